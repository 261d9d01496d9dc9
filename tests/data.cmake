file(GLOB data_test_sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/core/data/*_test.cpp)
file(GLOB data_slow_sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/core/data/*_slow.cpp)
approx_test(data_test
  SOURCES ${data_test_sources}
  LIBRARIES approx_data approx_spec)
approx_test(data_slow_test
  SOURCES ${data_slow_sources}
  LIBRARIES approx_data approx_spec
  LABELS slow)
file(GLOB data_fuzz_sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/core/data/*_fuzz.cpp)
approx_test(data_fuzz_test
  SOURCES ${data_fuzz_sources}
  LIBRARIES approx_data approx_spec
  LABELS fuzz
  TIMEOUT 3600)
