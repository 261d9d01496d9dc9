# approx_program(NAME [IN_BOTH targets...] [IN_LIBRARY targets...] [IN_PROGRAM targets...]): the
# program NAME and the library that it opens for what computes, NAME_library (libNAME.so), of all
# rooms and of the OBJECT libraries that are named. What the library has (methods, networks,
# studies, kernel variants with a rule) is written out once it is built, and compiled into the
# program: it knows them without opening the library.
function(approx_program name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "IN_BOTH;IN_LIBRARY;IN_PROGRAM")
  add_library(${name}_library SHARED ${CMAKE_SOURCE_DIR}/core/library/source.cpp)
  set_target_properties(${name}_library PROPERTIES OUTPUT_NAME ${name})
  add_dependencies(${name}_library approx_build_info)
  target_include_directories(${name}_library PRIVATE ${CMAKE_BINARY_DIR})
  target_link_libraries(${name}_library
    PUBLIC approx_core approx_python_methods approx_networks approx_selections approx_ops
      approx_cudnn approx_kernel_variants approx_python approx_config approx_catalogue approx_data
      approx_digest approx_products approx_base ${arg_IN_BOTH} ${arg_IN_LIBRARY})

  add_executable(${name}_catalogue ${CMAKE_SOURCE_DIR}/cmake/catalogue.cpp)
  target_link_libraries(${name}_catalogue PRIVATE ${name}_library)
  set(catalogue ${CMAKE_BINARY_DIR}/generated/${name}_catalogue.cpp)
  add_custom_command(
    OUTPUT ${catalogue}
    COMMAND ${name}_catalogue ${catalogue}
    DEPENDS ${name}_catalogue $<TARGET_NAME_IF_EXISTS:approxtrain_cuda>
    COMMENT "Writing the catalogue of methods and networks")

  add_executable(${name} ${catalogue})
  target_link_libraries(${name}
    PRIVATE approx_cli approx_serve approx_python approx_base approx_products approx_digest
      approx_config approx_catalogue approx_data approx_results
      ${arg_IN_BOTH} ${arg_IN_PROGRAM})
endfunction()
