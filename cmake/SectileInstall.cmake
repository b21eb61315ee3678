# cmake --install: the two libraries, the command, the public headers, and find_package(Sectile).
#
#   <prefix>/lib/libsectile.so, libsectile-compiler.so (found beside it when something must be compiled)
#   <prefix>/bin/sectile
#   <prefix>/include/sectile/*.h            what users include
#   <prefix>/include/sectile/plain/...      what those include: plain C++, no LLVM
#   <prefix>/lib/cmake/Sectile/
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

install(TARGETS sectile EXPORT SectileTargets
  LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT cpp)
if(TARGET sectile-compiler)
  install(TARGETS sectile-compiler LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT cpp)
  set_target_properties(sectile-command PROPERTIES
    INSTALL_RPATH "$ORIGIN/../${CMAKE_INSTALL_LIBDIR}")
  install(TARGETS sectile-command RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT cpp)
endif()

install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/sectile
  DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT cpp FILES_MATCHING PATTERN "*.h")
set(plain_headers
  lang/Constant.h lang/DType.h lang/Diagnostics.h lang/KernelSignature.h lang/Remark.h
  frontend/cpp/BuildId.h frontend/cpp/Tracer.h frontend/python/Ast.h
  backends/CompileOptions.h backends/Device.h backends/Driver.h backends/ForkSafeMutex.h backends/KernelImage.h
  jit/Api.h jit/BoundLaunch.h jit/CompilerInterface.h jit/Kernel.h jit/Provenance.h jit/Runtime.h jit/Specialization.h jit/Status.h jit/TargetName.h jit/VariantList.h)
foreach(header IN LISTS plain_headers)
  get_filename_component(folder ${header} DIRECTORY)
  install(FILES ${PROJECT_SOURCE_DIR}/${header}
    DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/sectile/plain/${folder} COMPONENT cpp)
endforeach()
target_include_directories(sectile PUBLIC
  $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}/sectile/plain>)
target_compile_features(sectile PUBLIC cxx_std_20)

set(package_folder ${CMAKE_INSTALL_LIBDIR}/cmake/Sectile)
install(EXPORT SectileTargets NAMESPACE Sectile:: DESTINATION ${package_folder} COMPONENT cpp)
configure_package_config_file(
  ${PROJECT_SOURCE_DIR}/cmake/SectileConfig.cmake.in ${PROJECT_BINARY_DIR}/SectileConfig.cmake
  INSTALL_DESTINATION ${package_folder})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/SectileConfigVersion.cmake
  COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/SectileConfig.cmake ${PROJECT_BINARY_DIR}/SectileConfigVersion.cmake
  DESTINATION ${package_folder} COMPONENT cpp)
