# Everything that needs no LibTorch, in one program.
set(plain_libraries approx_base approx_digest approx_config approx_data approx_results)
file(GLOB_RECURSE plain_tests CONFIGURE_DEPENDS
  base/*_test.cpp core/config/*_test.cpp core/experiment/*_test.cpp core/data/*_test.cpp
  results/*_test.cpp cli/*_test.cpp)
approx_test(plain_test
  SOURCES ${plain_tests} ${CMAKE_SOURCE_DIR}/cli/text.cpp ${CMAKE_SOURCE_DIR}/cli/sweep/controls.cpp
  LIBRARIES ${plain_libraries} CLI11::CLI11)
target_compile_definitions(plain_test PRIVATE APPROX_SOURCE_DIR="${CMAKE_SOURCE_DIR}")

file(GLOB_RECURSE data_slow_sources CONFIGURE_DEPENDS core/data/*_slow.cpp)
approx_test(data_slow_test
  SOURCES ${data_slow_sources}
  LIBRARIES approx_base approx_digest approx_config approx_data
  LABELS slow)
file(GLOB_RECURSE data_fuzz_sources CONFIGURE_DEPENDS core/data/*_fuzz.cpp)
approx_test(data_fuzz_test
  SOURCES ${data_fuzz_sources}
  LIBRARIES approx_base approx_digest approx_config approx_data
  LABELS fuzz
  TIMEOUT 3600)
