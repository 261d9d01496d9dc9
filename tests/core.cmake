# Everything that needs LibTorch, in one program.
file(GLOB_RECURSE core_tests CONFIGURE_DEPENDS
  kernels/*_test.cpp products/*_test.cpp core/*_test.cpp core/networks/*_slow.cpp)
list(FILTER core_tests EXCLUDE REGEX
  "/tests/(core/(config|experiment|data|python|train/trace)|kernels/cudnn)/")
approx_test(core_test
  SOURCES ${core_tests} testing.cpp reference.cpp
  LIBRARIES approxtrain_library
  SLOW *NetworkTraining*
  CUDA Cuda.*)
# What a library of kernels registers for the tests alone is found in the program.
set_target_properties(core_test PROPERTIES ENABLE_EXPORTS ON)
if(NOT CMAKE_UNITY_BUILD)
  target_precompile_headers(core_test PRIVATE torch_pch.h)
endif()

# Opened by name, beside the program.
add_library(fake_nvml MODULE ${CMAKE_CURRENT_LIST_DIR}/core/train/fake_nvml.cpp)
add_library(fake_cusparselt MODULE ${CMAKE_CURRENT_LIST_DIR}/kernels/trials/fake_cusparselt.cpp)
target_include_directories(fake_cusparselt PRIVATE ${CMAKE_SOURCE_DIR})
set_target_properties(fake_nvml fake_cusparselt PROPERTIES PREFIX "")
add_dependencies(core_test fake_nvml fake_cusparselt)

# Run by hand: figures, no verdict.
file(GLOB benchmarks CONFIGURE_DEPENDS benchmarks/*.cpp)
add_executable(layer_benchmarks ${benchmarks})
target_link_libraries(layer_benchmarks PRIVATE approxtrain_library)
