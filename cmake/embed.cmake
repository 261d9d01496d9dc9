# approx_embed(TARGET SYMBOL FILE): adds FILE to TARGET as `const char* const approx::SYMBOL`, so
# that the program needs no file of its own at run time. FILE stays the only place to edit.
function(approx_embed target symbol file)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${file})
  file(READ ${file} content)
  if(content MATCHES "\\)embedded\"")
    message(FATAL_ERROR "${file} contains the delimiter that embeds it")
  endif()
  set(source ${CMAKE_BINARY_DIR}/generated/${symbol}.cpp)
  string(CONCAT text
    "namespace approx {\n"
    "extern const char* const @symbol@;\n"
    "const char* const @symbol@ = R\"embedded(@content@)embedded\";\n"
    "}  // namespace approx\n")
  file(CONFIGURE OUTPUT ${source} CONTENT "${text}" @ONLY)  # writes only what has changed
  target_sources(${target} PRIVATE ${source})
endfunction()

# approx_embed_pages(TARGET SYMBOL FILES...): the same of several files as one text, each behind a
# line `<!-- page NAME -->`.
function(approx_embed_pages target symbol)
  set(pages "")
  foreach(file ${ARGN})
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${file})
    get_filename_component(name ${file} NAME_WE)
    file(READ ${file} content)
    string(APPEND pages "<!-- page ${name} -->\n${content}")
  endforeach()
  set(together ${CMAKE_BINARY_DIR}/generated/${symbol}.txt)
  file(CONFIGURE OUTPUT ${together} CONTENT "@pages@" @ONLY)
  approx_embed(${target} ${symbol} ${together})
endfunction()
