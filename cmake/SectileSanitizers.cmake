# SECTILE_SANITIZE: every object with the sanitizer, optimised a little, with lines for its reports.
if(SECTILE_SANITIZE STREQUAL "thread")
  set(sectile_sanitizers thread)
elseif(SECTILE_SANITIZE STREQUAL "address")
  set(sectile_sanitizers address,undefined)
else()
  message(FATAL_ERROR "SECTILE_SANITIZE is '${SECTILE_SANITIZE}', not thread or address")
endif()
add_compile_options(-fsanitize=${sectile_sanitizers} -O1 -g1 -fno-omit-frame-pointer
  -fno-sanitize-recover=undefined)
add_link_options(-fsanitize=${sectile_sanitizers})
