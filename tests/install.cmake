# `cmake --install` into an empty prefix; the program there works away from the sources.
add_test(NAME install.works_without_the_sources
  COMMAND ${CMAKE_COMMAND} -D BUILD=${CMAKE_BINARY_DIR} -D SOURCE=${CMAKE_SOURCE_DIR}
          -P ${CMAKE_CURRENT_SOURCE_DIR}/install/install_test.cmake)
set_tests_properties(install.works_without_the_sources PROPERTIES TIMEOUT 120)
