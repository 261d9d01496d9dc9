file(GLOB core_tests CONFIGURE_DEPENDS
  ${CMAKE_CURRENT_SOURCE_DIR}/kernels/*_test.cpp
  ${CMAKE_CURRENT_SOURCE_DIR}/core/*_test.cpp
  ${CMAKE_CURRENT_SOURCE_DIR}/core/methods/*_test.cpp)
approx_test(core_test
  SOURCES ${core_tests} ${CMAKE_CURRENT_SOURCE_DIR}/testing.cpp
    ${CMAKE_CURRENT_SOURCE_DIR}/reference.cpp
  LIBRARIES approxtrain_library)
target_precompile_headers(core_test PRIVATE ${CMAKE_CURRENT_SOURCE_DIR}/torch_pch.h)

approx_test(network_training_test
  SOURCES core/network_training_slow.cpp
  LIBRARIES approxtrain_library
  LABELS slow
  TIMEOUT 900)
target_precompile_headers(network_training_test REUSE_FROM core_test)

# Run by hand: figures, no verdict.
add_executable(dense_layer_benchmark benchmarks/dense_layer.cpp)
target_link_libraries(dense_layer_benchmark PRIVATE approxtrain_library)
add_executable(batch_norm_benchmark benchmarks/batch_norm.cpp)
target_link_libraries(batch_norm_benchmark PRIVATE approxtrain_library)
add_executable(small_maps_benchmark benchmarks/small_maps.cpp)
target_link_libraries(small_maps_benchmark PRIVATE approxtrain_library)
