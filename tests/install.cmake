# `cmake --install` into an empty prefix; the program there works away from the sources.
add_test(NAME install.works_without_the_sources
  COMMAND ${CMAKE_COMMAND} -D BUILD=${CMAKE_BINARY_DIR} -D SOURCE=${CMAKE_SOURCE_DIR}
          -P ${CMAKE_CURRENT_SOURCE_DIR}/install/install_test.cmake)
set_tests_properties(install.works_without_the_sources PROPERTIES TIMEOUT 120)

# `scripts/build` builds the program alone: all that it opens while it runs comes with it.
foreach(opened IN LISTS APPROX_OPENED)
  add_test(NAME build.the_program_brings_${opened}
    COMMAND ${CMAKE_MAKE_PROGRAM} -C ${CMAKE_BINARY_DIR} -t query approxtrain)
  set_tests_properties(build.the_program_brings_${opened} PROPERTIES
    PASS_REGULAR_EXPRESSION "lib${opened}\\.so")
endforeach()
