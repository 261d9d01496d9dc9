# Single kernels of a GPU, timed on one (docs/internals/gpu.md). Compiled where there is a compiler
# for CUDA.
if(APPROX_CUDA_FOUND)
  add_executable(gpu_lab EXCLUDE_FROM_ALL
    gpu_lab/lab.cu gpu_lab/norms.cu gpu_lab/positions.cu gpu_lab/selections.cu
    ${CMAKE_SOURCE_DIR}/kernels/norm/norm.cu
    ${CMAKE_SOURCE_DIR}/kernels/sampled/channels.cu
    ${CMAKE_SOURCE_DIR}/kernels/select/largest.cu
    ${CMAKE_SOURCE_DIR}/kernels/select/nm.cu
    ${CMAKE_SOURCE_DIR}/kernels/select/peak.cu
    ${CMAKE_SOURCE_DIR}/kernels/select/pruned.cu
    ${CMAKE_SOURCE_DIR}/kernels/select/squares.cu
    ${CMAKE_SOURCE_DIR}/base/error.cpp
    ${CMAKE_SOURCE_DIR}/base/fmt.cpp
    ${CMAKE_SOURCE_DIR}/base/text.cpp)
  set_property(TARGET gpu_lab PROPERTY COMPILE_OPTIONS)  # not the -O1 of tests
  set_target_properties(gpu_lab PROPERTIES CUDA_RUNTIME_LIBRARY Static UNITY_BUILD OFF)
  target_include_directories(gpu_lab PRIVATE ${CMAKE_SOURCE_DIR})
  target_include_directories(gpu_lab SYSTEM PRIVATE ${CMAKE_BINARY_DIR}/include)
  target_compile_options(gpu_lab PRIVATE
    $<$<COMPILE_LANGUAGE:CUDA>:-Xcompiler=-Wall,-Wextra --expt-relaxed-constexpr>)
endif()
