# sectile_add_kernels(<target> <kernels.py>... [NAME <name>] [TARGETS <list>] [SHARED_RUNTIME]
#                     [PYTHON <interpreter>])
#
# Compiles the kernels that the files export (@st.aot.export) into an archive, which becomes part of <target>, together
# with the runtime. Its sources include <name>.h (C99) or <name>.hpp (C++17), and call <name>_open_linked(), or openLinked().
#
#   add_executable(app main.cpp)
#   sectile_add_kernels(app kernels.py NAME nn TARGETS cuda:80 cuda:90 cpu:x86-64-v3)
#
# An edit of the files, or of a module that they import, compiles them anew. Needs Python with the package `sectile` where
# it is built, and nothing where it runs.
#
#   NAME            what is generated is called after it; without it the name of the first file
#   TARGETS         as of `sectile aot --target`; cpu:x86-64-v3 without it
#   SHARED_RUNTIME  links libsectile.so instead of having the runtime inside
#   PYTHON          without it that of find_package(Python)
function(sectile_add_kernels target)
  cmake_parse_arguments(PARSE_ARGV 1 arg "SHARED_RUNTIME" "NAME;PYTHON" "TARGETS")
  if(NOT arg_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "sectile_add_kernels(${target}): which files have the kernels?")
  endif()
  if(NOT TARGET ${target})
    message(FATAL_ERROR "sectile_add_kernels(${target}): there is no such target")
  endif()
  set(files "")
  foreach(file IN LISTS arg_UNPARSED_ARGUMENTS)
    get_filename_component(file "${file}" ABSOLUTE BASE_DIR "${CMAKE_CURRENT_SOURCE_DIR}")
    if(NOT EXISTS "${file}")
      message(FATAL_ERROR "sectile_add_kernels(${target}): there is no file ${file}")
    endif()
    list(APPEND files "${file}")
  endforeach()
  if(NOT arg_NAME)
    list(GET files 0 first)
    get_filename_component(arg_NAME "${first}" NAME_WE)
  endif()
  if(NOT arg_TARGETS)
    set(arg_TARGETS cpu:x86-64-v3)
  endif()
  list(JOIN arg_TARGETS "," targets)
  # These files may lie in the Python package itself: then that is the one, and an interpreter beside it is its own.
  set(environment "")
  get_filename_component(package "${CMAKE_CURRENT_FUNCTION_LIST_DIR}/../.." ABSOLUTE)
  if(EXISTS "${package}/__main__.py")
    get_filename_component(packages "${package}" DIRECTORY)
    set(environment "PYTHONPATH=${packages}:$ENV{PYTHONPATH}")
    get_filename_component(own "${packages}/../../../bin/python3" ABSOLUTE)
    if(NOT arg_PYTHON AND NOT Python_EXECUTABLE AND EXISTS "${own}")
      set(arg_PYTHON "${own}")
    endif()
  endif()
  if(NOT arg_PYTHON)
    find_package(Python REQUIRED COMPONENTS Interpreter)
    set(arg_PYTHON "${Python_EXECUTABLE}")
  endif()
  execute_process(COMMAND "${CMAKE_COMMAND}" -E env ${environment} "${arg_PYTHON}" -c "import sectile._native"
    RESULT_VARIABLE failed OUTPUT_QUIET ERROR_VARIABLE why)
  if(failed)
    string(STRIP "${why}" why)
    message(FATAL_ERROR "sectile_add_kernels(${target}): ${arg_PYTHON} has no package sectile, or one for another version "
      "of Python; PYTHON <interpreter> or -DPython_EXECUTABLE=<interpreter> names the one it is installed for\n${why}")
  endif()
  set(folder "${CMAKE_CURRENT_BINARY_DIR}/sectile/${arg_NAME}")
  set(prefix "${folder}/${arg_NAME}")
  file(MAKE_DIRECTORY "${folder}")
  list(GET files 0 first)
  add_custom_command(
    OUTPUT "${prefix}.a" "${prefix}.h" "${prefix}.hpp"
    COMMAND "${CMAKE_COMMAND}" -E env ${environment} "CC=${CMAKE_C_COMPILER}" "${arg_PYTHON}" -m sectile aot ${files} -o "${prefix}"
      --target "${targets}" --static --quiet --depfile "${prefix}.d"
    DEPENDS ${files}
    DEPFILE "${prefix}.d"
    COMMENT "Compiling the kernels of ${arg_NAME} for ${targets}" VERBATIM)
  target_sources(${target} PRIVATE "${prefix}.h" "${prefix}.hpp")
  target_include_directories(${target} PRIVATE "${folder}")
  target_link_libraries(${target} PRIVATE "${prefix}.a")
  # Something has to make the library before it is linked, whatever of the headers is included.
  string(MAKE_C_IDENTIFIER "sectile_kernels_${target}_${arg_NAME}" step)
  add_custom_target(${step} DEPENDS "${prefix}.a")
  add_dependencies(${target} ${step})
  if(arg_SHARED_RUNTIME)
    target_link_libraries(${target} PRIVATE Sectile::runtime)
  else()
    target_link_libraries(${target} PRIVATE Sectile::runtime_static)
  endif()
endfunction()
