# The kernels' loops without LibTorch, in a program that runs where LibTorch does not.
file(GLOB kernel_checks CONFIGURE_DEPENDS kernel_checks/*.cpp)
add_executable(kernel_checks ${kernel_checks})
set_target_properties(kernel_checks PROPERTIES UNITY_BUILD OFF)
target_link_libraries(kernel_checks PRIVATE approx_kernel_variants approx_products approx_base)
add_test(NAME kernels.agree COMMAND kernel_checks agree)
add_test(NAME kernels.sums COMMAND kernel_checks sums)

# These are skipped where what they need is not installed, and say so.
find_program(APPROX_TEST_PYTHON NAMES python3 REQUIRED)
if(NOT APPROX_SANITIZE)
  foreach(what memory instructions)
    add_test(NAME kernels.${what}
      COMMAND ${APPROX_TEST_PYTHON} ${CMAKE_CURRENT_LIST_DIR}/kernel_checks/valgrind_checks.py
        ${what} $<TARGET_FILE:kernel_checks>)
  endforeach()
  add_test(NAME kernels.arm COMMAND ${CMAKE_SOURCE_DIR}/scripts/arm-checks ${CMAKE_BINARY_DIR})
  set_tests_properties(kernels.memory kernels.instructions kernels.arm PROPERTIES
    SKIP_RETURN_CODE 77 TIMEOUT 900)
endif()
