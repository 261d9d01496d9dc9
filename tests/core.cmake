# Everything that needs LibTorch, in one program.
file(GLOB_RECURSE core_tests CONFIGURE_DEPENDS
  kernels/*_test.cpp core/*_test.cpp)
list(FILTER core_tests EXCLUDE REGEX "/tests/core/(config|experiment|data)/")
approx_test(core_test
  SOURCES ${core_tests} testing.cpp reference.cpp
  LIBRARIES approxtrain_library)
if(NOT CMAKE_UNITY_BUILD)
  target_precompile_headers(core_test PRIVATE torch_pch.h)
endif()

approx_test(network_training_test
  SOURCES core/networks/network_training_slow.cpp
  LIBRARIES approxtrain_library
  LABELS slow
  TIMEOUT 900)
if(NOT CMAKE_UNITY_BUILD)
  target_precompile_headers(network_training_test REUSE_FROM core_test)
endif()

# Run by hand: figures, no verdict.
add_executable(dense_layer_benchmark benchmarks/dense_layer.cpp)
target_link_libraries(dense_layer_benchmark PRIVATE approxtrain_library)
add_executable(batch_norm_benchmark benchmarks/batch_norm.cpp)
target_link_libraries(batch_norm_benchmark PRIVATE approxtrain_library)
add_executable(small_maps_benchmark benchmarks/small_maps.cpp)
target_link_libraries(small_maps_benchmark PRIVATE approxtrain_library)
