# cmake -DOUTPUT=... -DSOURCE_DIR=... -DFOLDERS=a;b -DEXTRA=text -P BuildId.cmake
# Writes a C++ file with a digest of all sources below the folders (see jit/BuildId.h). The file is left
# untouched when the digest is the same, so that nothing is rebuilt.
set(digests "${EXTRA}")
foreach(folder IN LISTS FOLDERS)
  file(GLOB_RECURSE files LIST_DIRECTORIES false RELATIVE "${SOURCE_DIR}"
    "${SOURCE_DIR}/${folder}/*.h" "${SOURCE_DIR}/${folder}/*.cpp" "${SOURCE_DIR}/${folder}/*.td" "${SOURCE_DIR}/${folder}/*.def"
    "${SOURCE_DIR}/${folder}/CMakeLists.txt")
  foreach(file IN LISTS files)
    file(SHA256 "${SOURCE_DIR}/${file}" digest)
    string(APPEND digests "\n${file} ${digest}")
  endforeach()
endforeach()
string(SHA256 buildId "${digests}")
set(content "#include \"jit/BuildId.h\"\n\nconst char *sectile::jit::buildId() {\n  return \"${buildId}\";\n}\n"
  "const char *sectile::jit::version() {\n  return \"${VERSION}\";\n}\n")
set(previous "")
if(EXISTS "${OUTPUT}")
  file(READ "${OUTPUT}" previous)
endif()
if(NOT previous STREQUAL content)
  file(WRITE "${OUTPUT}" "${content}")
endif()
