# What is asked of cuDNN, against a library in its place and, for a GPU that is described, against
# itself where the wheel of LibTorch brought it: without LibTorch, without a GPU.
set(nvidia ${APPROX_TORCH_DIR}/../nvidia)
file(GLOB cuda_headers ${nvidia}/cu*/include)
add_library(cudnn_names OBJECT kernels/cudnn/interface_test.cpp)
target_include_directories(cudnn_names PRIVATE ${CMAKE_SOURCE_DIR})
target_include_directories(cudnn_names SYSTEM PRIVATE ${nvidia}/cudnn/include ${cuda_headers})

approx_test(cudnn_test
  SOURCES kernels/cudnn/engines_test.cpp
  LIBRARIES approx_cudnn approx_base cudnn_names)
target_compile_definitions(cudnn_test PRIVATE
  "CUDNN_OF_THE_WHEEL=\"${nvidia}/cudnn/lib/libcudnn.so.9\"")

# Opened by name, beside the program.
add_library(fake_cudnn MODULE kernels/cudnn/fake_cudnn.cpp)
target_include_directories(fake_cudnn PRIVATE ${CMAKE_SOURCE_DIR})
set_target_properties(fake_cudnn PROPERTIES PREFIX "")
add_dependencies(cudnn_test fake_cudnn)
