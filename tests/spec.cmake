file(GLOB spec_tests CONFIGURE_DEPENDS
  ${CMAKE_SOURCE_DIR}/tests/core/spec/*_test.cpp
  ${CMAKE_SOURCE_DIR}/tests/core/schedules/*_test.cpp)
approx_test(spec_test SOURCES ${spec_tests} LIBRARIES approx_spec)
target_compile_definitions(spec_test PRIVATE APPROX_SOURCE_DIR="${CMAKE_SOURCE_DIR}")
