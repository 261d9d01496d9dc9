# What GPUs run, on a CPU: without LibTorch and without a compiler for CUDA.
file(GLOB gpu_checks CONFIGURE_DEPENDS gpu_checks/*.cpp)
file(GLOB added_gpu_checks CONFIGURE_DEPENDS additions/gpu_checks/*.cpp)
add_executable(gpu_checks ${gpu_checks} ${added_gpu_checks}
  kernel_checks/checks.cpp kernel_checks/operands.cpp)
set_target_properties(gpu_checks PROPERTIES UNITY_BUILD OFF)
target_link_libraries(gpu_checks PRIVATE approx_kernel_variants approx_products approx_base)
if(APPROX_SANITIZE)
  add_test(NAME gpu.agree COMMAND gpu_checks 2)
else()
  add_test(NAME gpu.agree COMMAND gpu_checks 10)
  add_test(NAME gpu.mutants
    COMMAND ${APPROX_TEST_PYTHON} ${CMAKE_CURRENT_LIST_DIR}/gpu_checks/mutants.py
      ${CMAKE_BINARY_DIR} ${CMAKE_SOURCE_DIR} 24)
  add_test(NAME gpu.all_mutants
    COMMAND ${APPROX_TEST_PYTHON} ${CMAKE_CURRENT_LIST_DIR}/gpu_checks/mutants.py
      ${CMAKE_BINARY_DIR} ${CMAKE_SOURCE_DIR})
  set_tests_properties(gpu.all_mutants PROPERTIES SKIP_RETURN_CODE 77 TIMEOUT 7200 LABELS full)
  add_test(NAME gpu.matrix
    COMMAND ${APPROX_TEST_PYTHON} ${CMAKE_SOURCE_DIR}/scripts/gpu-matrix --check
      --only 90a --build ${CMAKE_BINARY_DIR})
  set_tests_properties(gpu.mutants gpu.matrix PROPERTIES SKIP_RETURN_CODE 77 TIMEOUT 1800)
endif()
