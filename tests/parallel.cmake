# What several processes do together, as jobs of an MPI launcher; without MPI nothing of it.
if(NOT MPI_CXX_FOUND)
  return()
endif()
find_program(APPROX_TEST_PYTHON NAMES python3 REQUIRED)
add_executable(parallel_checks parallel_checks/main.cpp testing.cpp)
target_link_libraries(parallel_checks PRIVATE approxtrain_library GTest::gtest)
add_dependencies(parallel_checks approxtrain_mpi)
foreach(what "exchanges 2" "exchanges 3" "agree 2" "agree 4")
  separate_arguments(what)
  list(POP_BACK what ranks)
  add_test(NAME parallel.${what}_${ranks}
    COMMAND ${MPIEXEC_EXECUTABLE} --oversubscribe --bind-to none -n ${ranks}
      $<TARGET_FILE:parallel_checks> ${what})
  set_tests_properties(parallel.${what}_${ranks} PROPERTIES
    TIMEOUT 300 ENVIRONMENT "OMPI_ALLOW_RUN_AS_ROOT=1;OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1")
endforeach()
add_test(NAME parallel.hang
  COMMAND ${APPROX_TEST_PYTHON} ${CMAKE_CURRENT_LIST_DIR}/parallel_checks/hang_test.py
    ${MPIEXEC_EXECUTABLE} $<TARGET_FILE:parallel_checks>)
set_tests_properties(parallel.hang PROPERTIES TIMEOUT 300)
