# LLVM, MLIR and LLD 22 as *static* libraries.
#
# Debian's exports tie every MLIR and LLD archive to the shared libLLVM; linked beside the static
# components that loads LLVM twice, and the process aborts on duplicate options. So `LLVM` is dropped
# from each archive's interface and the components are linked by name (sectile_llvm).

set(SECTILE_LLVM_VERSION 22)
# A range, because LLVM's version files refuse a request for the bare major version.
find_package(MLIR ${SECTILE_LLVM_VERSION}.1...<23 CONFIG
  HINTS /usr/lib/llvm-${SECTILE_LLVM_VERSION}/lib/cmake/mlir
  NO_CMAKE_PACKAGE_REGISTRY)
if(NOT MLIR_FOUND)
  message(FATAL_ERROR
    "MLIR ${SECTILE_LLVM_VERSION} was not found. `./dev` installs it; by hand: "
    "apt install llvm-22-dev libmlir-22-dev mlir-22-tools liblld-22-dev lld-22 libpolly-22-dev clang-22 "
    "(Debian 12: bookworm-security; Ubuntu: https://apt.llvm.org)")
endif()
find_package(LLD CONFIG REQUIRED
  HINTS /usr/lib/llvm-${SECTILE_LLVM_VERSION}/lib/cmake/lld)

list(APPEND CMAKE_MODULE_PATH "${MLIR_CMAKE_DIR}" "${LLVM_CMAKE_DIR}")
include(TableGen)
include(AddLLVM)
include(AddMLIR)

# zlib and Zstandard, which LLVM's Support library uses, are linked statically too: a wheel may ask nothing
# of a system but glibc.
find_library(SECTILE_STATIC_ZLIB libz.a REQUIRED)
find_library(SECTILE_STATIC_ZSTD libzstd.a REQUIRED)

function(sectile_drop_shared_llvm)
  get_property(imported DIRECTORY "${CMAKE_CURRENT_SOURCE_DIR}" PROPERTY IMPORTED_TARGETS)
  foreach(target IN LISTS imported)
    get_target_property(links ${target} INTERFACE_LINK_LIBRARIES)
    if(links)
      list(REMOVE_ITEM links LLVM)
      list(TRANSFORM links REPLACE "^ZLIB::ZLIB$" "${SECTILE_STATIC_ZLIB}")
      list(TRANSFORM links REPLACE "^zstd::libzstd_shared$" "${SECTILE_STATIC_ZSTD}")
      set_property(TARGET ${target} PROPERTY INTERFACE_LINK_LIBRARIES "${links}")
    endif()
  endforeach()
endfunction()
sectile_drop_shared_llvm()

# The code generators linked into the compiler library. LLD initialises every target LLVM was built
# with; jit/LldTargets.cpp defines empty initialisers for those not listed here.
set(SECTILE_LLVM_TARGETS X86 NVPTX AMDGPU)

add_library(sectile_llvm INTERFACE)
set(sectile_llvm_components
  core support irreader bitreader bitwriter analysis passes target targetparser mc object
  instcombine scalaropts transformutils lto dtlto option asmparser)
foreach(target IN LISTS SECTILE_LLVM_TARGETS)
  string(TOLOWER ${target} lower)
  list(APPEND sectile_llvm_components ${lower}codegen ${lower}desc ${lower}info)
  if(NOT target STREQUAL NVPTX) # nothing parses PTX
    list(APPEND sectile_llvm_components ${lower}asmparser)
  endif()
endforeach()
llvm_map_components_to_libnames(sectile_llvm_libraries ${sectile_llvm_components})
target_link_libraries(sectile_llvm INTERFACE ${sectile_llvm_libraries})
target_include_directories(sectile_llvm SYSTEM INTERFACE ${LLVM_INCLUDE_DIRS} ${MLIR_INCLUDE_DIRS})
separate_arguments(sectile_llvm_definitions NATIVE_COMMAND "${LLVM_DEFINITIONS}")
target_compile_definitions(sectile_llvm INTERFACE ${sectile_llvm_definitions})
