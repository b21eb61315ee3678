# Installs the build into a folder of its own, builds a user's project against it and runs it there.
#   cmake -DBUILD=<build> -DPROJECT=<tests/install/project> -DCOMPILER=<c++> -P InstallTest.cmake
set(work "${BUILD}/install-test")
file(REMOVE_RECURSE "${work}")

function(run)
  execute_process(COMMAND ${ARGN} RESULT_VARIABLE status OUTPUT_VARIABLE text ERROR_VARIABLE text)
  if(NOT status EQUAL 0)
    message(FATAL_ERROR "failed: ${ARGN}\n${text}")
  endif()
  set(text "${text}" PARENT_SCOPE)
endfunction()

run("${CMAKE_COMMAND}" --install "${BUILD}" --prefix "${work}/prefix")

# The C++ example of the README is built as it stands there.
file(READ "${PROJECT}/../../../README.md" readme)
string(FIND "${readme}" "```cpp\n" start)
math(EXPR start "${start} + 7")
string(SUBSTRING "${readme}" ${start} -1 readme)
string(FIND "${readme}" "```" end)
string(SUBSTRING "${readme}" 0 ${end} readme)
file(WRITE "${work}/readme.cpp" "${readme}")

# Ninja, which this build uses itself: CMake's default would be make, which a machine need not have.
run("${CMAKE_COMMAND}" -G Ninja -S "${PROJECT}" -B "${work}/build" "-DCMAKE_PREFIX_PATH=${work}/prefix"
  "-DCMAKE_CXX_COMPILER=${COMPILER}" "-DREADME_EXAMPLE=${work}/readme.cpp")
run("${CMAKE_COMMAND}" --build "${work}/build")
# The second start has all in its cache, and needs no compiler.
foreach(expected IN ITEMS "ok, compiler loaded\n" "ok, compiler not loaded\n")
  run("${CMAKE_COMMAND}" -E env "SECTILE_CACHE_DIR=${work}/cache" "${work}/build/uses_sectile")
  if(NOT text STREQUAL expected)
    message(FATAL_ERROR "the installed library computed: ${text}")
  endif()
endforeach()
run("${CMAKE_COMMAND}" -E env SECTILE_CACHE_DIR= "${work}/build/readme_example")

# Without CMake, and after the installation has been moved.
find_program(pkg_config NAMES pkg-config pkgconf)
if(pkg_config)
  file(RENAME "${work}/prefix" "${work}/moved")
  file(GLOB_RECURSE description "${work}/moved/*/sectile.pc")
  get_filename_component(folder "${description}" DIRECTORY)
  run("${CMAKE_COMMAND}" -E env "PKG_CONFIG_PATH=${folder}" "${pkg_config}" --cflags --libs sectile)
  string(STRIP "${text}" flags)
  separate_arguments(flags)
  run("${COMPILER}" -std=c++20 "${work}/readme.cpp" -o "${work}/by_pkg_config" ${flags})
  run("${CMAKE_COMMAND}" -E env SECTILE_CACHE_DIR= "${work}/by_pkg_config")
  file(RENAME "${work}/moved" "${work}/prefix")
else()
  message("pkg-config is not installed: sectile.pc is not tried")
endif()

# The runtime alone, which programs with archives of kernels ship: no compiler, no headers of the language.
run("${CMAKE_COMMAND}" --install "${BUILD}" --prefix "${work}/runtime" --component runtime)
file(GLOB_RECURSE unwanted "${work}/runtime/*sectile-compiler*" "${work}/runtime/*/sectile.h")
if(unwanted)
  message(FATAL_ERROR "the component `runtime` has ${unwanted}")
endif()
file(WRITE "${work}/engine/CMakeLists.txt" [[
cmake_minimum_required(VERSION 3.20)
project(engine LANGUAGES CXX)
find_package(Sectile 0.1 REQUIRED)
foreach(kind IN ITEMS runtime runtime_static)
  add_executable(${kind} engine.cpp)
  target_compile_features(${kind} PRIVATE cxx_std_17)
  set_target_properties(${kind} PROPERTIES CXX_STANDARD 17)
  target_link_libraries(${kind} PRIVATE Sectile::${kind})
endforeach()
]])
file(WRITE "${work}/engine/engine.cpp" [[
#include <sectile/aot.h>
#include <cstdio>
int main() {
  sectile_archive *archive;
  std::printf("%d %s\n", sectile_open("nothing", &archive), sectile_error_text());
}
]])
run("${CMAKE_COMMAND}" -G Ninja -S "${work}/engine" -B "${work}/engine/build" "-DCMAKE_PREFIX_PATH=${work}/runtime"
  "-DCMAKE_CXX_COMPILER=${COMPILER}")
run("${CMAKE_COMMAND}" --build "${work}/engine/build")
foreach(kind IN ITEMS runtime runtime_static)
  run("${work}/engine/build/${kind}")
  if(NOT text STREQUAL "2 archive nothing: it cannot be opened: No such file or directory\n")
    message(FATAL_ERROR "the installed runtime said: ${text}")
  endif()
endforeach()

run("${work}/prefix/bin/sectile" opt --help)
if(NOT text MATCHES "--canonicalize")
  message(FATAL_ERROR "the installed command printed: ${text}")
endif()
file(REMOVE_RECURSE "${work}")
