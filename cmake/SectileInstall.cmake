# cmake --install: the two libraries, the command, the public headers, and find_package(Sectile).
#
#   <prefix>/lib/libsectile.so, libsectile-compiler.so (found beside it when something must be compiled)
#   <prefix>/lib/libsectile.a               the runtime inside a program
#   <prefix>/bin/sectile
#   <prefix>/include/sectile/*.h            what users include
#   <prefix>/include/sectile/plain/...      what those include: plain C++, no LLVM
#   <prefix>/lib/cmake/Sectile/
#   <prefix>/lib/pkgconfig/sectile.pc
#   <prefix>/share/doc/sectile/             licences
#
# Components: `runtime` is what a program with an archive of kernels needs (libsectile.so, libsectile.a, sectile/c.h,
# sectile/aot.h, the CMake files); `cpp` adds the compiler and the headers of the C++ language; `command`; `doc`.
#
# A wheel (pyproject.toml) has the same below the Python package: CMAKE_INSTALL_LIBDIR and _INCLUDEDIR are
# set to folders in it, and `sectile --cmake-dir` prints where the CMake files lie.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

install(TARGETS sectile EXPORT SectileTargets
  LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT runtime)
install(TARGETS sectile_static ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT runtime)
if(TARGET sectile-compiler)
  install(TARGETS sectile-compiler LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT cpp)
  set_target_properties(sectile-command PROPERTIES
    INSTALL_RPATH "$ORIGIN/../${CMAKE_INSTALL_LIBDIR}")
  # A component of its own: in a wheel the command `sectile` is Python's.
  install(TARGETS sectile-command RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT command)
endif()

# The public headers, and whatever they include of ours. In the source tree they are included from its root
# ("lang/plain/DType.h"); installed, as <sectile/plain/lang/DType.h>, so that one -I serves a build without CMake.
set(plain "")
file(GLOB waiting RELATIVE ${PROJECT_SOURCE_DIR} CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/include/sectile/*.h)
while(waiting)
  list(POP_FRONT waiting header)
  file(READ ${PROJECT_SOURCE_DIR}/${header} text)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/${header})
  string(REGEX MATCHALL "#include \"[a-z]+/[^\"]+\"" lines "${text}")
  foreach(line IN LISTS lines)
    string(REGEX REPLACE "#include \"([^\"]+)\"" "\\1" included "${line}")
    if(NOT included IN_LIST plain)
      list(APPEND plain ${included})
      list(APPEND waiting ${included})
    endif()
  endforeach()
  string(REGEX REPLACE "#include \"([a-z]+/[^\"]+)\"" "#include <sectile/plain/\\1>" text "${text}")
  if(header MATCHES "^include/")
    set(installed ${header})
  else()
    set(installed include/sectile/plain/${header})
  endif()
  file(CONFIGURE OUTPUT ${PROJECT_BINARY_DIR}/installed/${installed} CONTENT "${text}" @ONLY)
  get_filename_component(folder ${installed} DIRECTORY)
  string(REGEX REPLACE "^include" "${CMAKE_INSTALL_INCLUDEDIR}" folder ${folder})
  if(header MATCHES "^include/sectile/(c|aot|tvm_ffi)[.]h$")
    set(component runtime)
  else()
    set(component cpp)
  endif()
  install(FILES ${PROJECT_BINARY_DIR}/installed/${installed} DESTINATION ${folder} COMPONENT ${component})
endwhile()
target_include_directories(sectile PUBLIC $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
target_compile_features(sectile PUBLIC cxx_std_20)

set(package_folder ${CMAKE_INSTALL_LIBDIR}/cmake/Sectile)
install(EXPORT SectileTargets NAMESPACE Sectile:: DESTINATION ${package_folder} COMPONENT runtime)
configure_package_config_file(
  ${PROJECT_SOURCE_DIR}/cmake/SectileConfig.cmake.in ${PROJECT_BINARY_DIR}/SectileConfig.cmake
  INSTALL_DESTINATION ${package_folder})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/SectileConfigVersion.cmake
  COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/SectileConfig.cmake ${PROJECT_BINARY_DIR}/SectileConfigVersion.cmake
  ${PROJECT_SOURCE_DIR}/cmake/SectileKernels.cmake
  DESTINATION ${package_folder} COMPONENT runtime)
file(RELATIVE_PATH SECTILE_PC_TO_PREFIX
  "/${CMAKE_INSTALL_LIBDIR}/pkgconfig" "/")
string(REGEX REPLACE "/$" "" SECTILE_PC_TO_PREFIX "${SECTILE_PC_TO_PREFIX}")
configure_file(${PROJECT_SOURCE_DIR}/cmake/Sectile.pc.in ${PROJECT_BINARY_DIR}/sectile.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/sectile.pc
  DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig COMPONENT cpp)
# The folder's name in share/doc is the package's, in small letters as Debian has it.
install(FILES ${PROJECT_SOURCE_DIR}/LICENSE ${PROJECT_SOURCE_DIR}/THIRD-PARTY.md
  DESTINATION ${CMAKE_INSTALL_DATAROOTDIR}/doc/sectile COMPONENT doc)

# The build tree as it is serves find_package(), too: `sectile --cmake-dir` and sectile.get_include() work there.
set(package_in_build ${PROJECT_BINARY_DIR}/python/sectile)
export(EXPORT SectileTargets NAMESPACE Sectile:: FILE ${package_in_build}/cmake/Sectile/SectileTargets.cmake)
file(COPY ${PROJECT_BINARY_DIR}/SectileConfig.cmake ${PROJECT_BINARY_DIR}/SectileConfigVersion.cmake
  ${PROJECT_SOURCE_DIR}/cmake/SectileKernels.cmake
  DESTINATION ${package_in_build}/cmake/Sectile)
file(CREATE_LINK ${PROJECT_BINARY_DIR}/installed/include ${package_in_build}/include SYMBOLIC)
