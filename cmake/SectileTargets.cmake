# How our libraries are made: one function per kind, so that flags are said once.

find_program(SECTILE_CCACHE ccache)
if(SECTILE_CCACHE)
  set(CMAKE_CXX_COMPILER_LAUNCHER ${SECTILE_CCACHE})
endif()

if(CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
  # ld.lld links the static LLVM in seconds.
  add_link_options(-fuse-ld=lld)
  # Keeps the precompiled header's hash free of time stamps, so ccache can reuse it.
  add_compile_options("$<$<COMPILE_LANGUAGE:CXX>:SHELL:-Xclang -fno-pch-timestamp>")
endif()
add_compile_options(-Wall -Wextra -Wno-unused-parameter -ffunction-sections -fdata-sections)
if(PROJECT_IS_TOP_LEVEL)
  add_compile_options(-Werror)
endif()

# sectile_links_runtime_statically(<library>): the C++ run-time library is inside, hidden, so that a library
# built on Debian 12 runs beside any libstdc++ and on any glibc from 2.34 on (manylinux_2_34; `./dev wheel`
# checks it). libgcc stays shared, as on every Linux: GCC 12's static one asks for glibc 2.35. So do
# relocations packed by -z pack-relative-relocs (2.36), which would save 3 MB of 88.
function(sectile_links_runtime_statically name)
  target_link_options(${name} PRIVATE -static-libstdc++)
endfunction()

# sectile_plain_library(<name> <sources>...): no LLVM header; part of the small runtime. It throws nothing of its
# own, but has exceptions: where memory is refused, std::bad_alloc passes through it to the program's call.
function(sectile_plain_library name)
  add_library(${name} STATIC ${ARGN})
  target_include_directories(${name} PUBLIC
    $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}> $<BUILD_INTERFACE:${PROJECT_BINARY_DIR}>)
endfunction()

# sectile_mlir_library(<name> <sources>...): uses LLVM and MLIR. All share one precompiled header
# (cmake/MlirPrecompiled.h), hence one set of flags.
function(sectile_mlir_library name)
  add_library(${name} STATIC ${ARGN})
  sectile_use_mlir(${name})
endfunction()

if(SECTILE_SANITIZE) # no LLVM
  return()
endif()

function(sectile_use_mlir name)
  target_include_directories(${name} PUBLIC
    $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}> $<BUILD_INTERFACE:${PROJECT_BINARY_DIR}>)
  target_link_libraries(${name} PUBLIC sectile_llvm)
  target_compile_options(${name} PRIVATE -fno-exceptions)
  get_target_property(kind ${name} TYPE)
  if(kind STREQUAL "EXECUTABLE") # -fPIE would not match the precompiled header
    set_target_properties(${name} PROPERTIES POSITION_INDEPENDENT_CODE OFF)
    target_compile_options(${name} PRIVATE -fPIC)
  endif()
  target_precompile_headers(${name} REUSE_FROM sectile_mlir_precompiled)
endfunction()

add_library(sectile_mlir_precompiled STATIC ${PROJECT_SOURCE_DIR}/cmake/MlirPrecompiled.cpp)
target_include_directories(sectile_mlir_precompiled PUBLIC ${PROJECT_SOURCE_DIR} ${PROJECT_BINARY_DIR})
target_link_libraries(sectile_mlir_precompiled PUBLIC sectile_llvm)
target_compile_options(sectile_mlir_precompiled PRIVATE -fno-exceptions)
if(CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
  add_compile_options("$<$<COMPILE_LANGUAGE:CXX>:-fpch-instantiate-templates>")
endif()
target_precompile_headers(sectile_mlir_precompiled PRIVATE ${PROJECT_SOURCE_DIR}/cmake/MlirPrecompiled.h)
