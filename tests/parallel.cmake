# What several processes do together, as jobs of an MPI launcher; without MPI nothing of it.
if(NOT MPI_CXX_FOUND)
  return()
endif()
find_program(APPROX_TEST_PYTHON NAMES python3 REQUIRED)
file(GLOB parallel_checks CONFIGURE_DEPENDS parallel_checks/*.cpp)
add_executable(parallel_checks ${parallel_checks} testing.cpp)
target_link_libraries(parallel_checks PRIVATE approxtrain_library GTest::gtest)
add_dependencies(parallel_checks approxtrain_mpi)
if(TARGET approxtrain_nccl)
  add_dependencies(parallel_checks approxtrain_nccl approxtrain_graphs)
endif()
set(environment "OMPI_ALLOW_RUN_AS_ROOT=1;OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1")
if(APPROX_SANITIZE)
  # Open MPI unloads its plugins at the end, and nobody can say then whose memory it was.
  list(APPEND environment "ASAN_OPTIONS=detect_odr_violation=0:detect_leaks=0")
endif()
foreach(what "exchanges 2" "exchanges 3" "agree 2" "agree 4" "agree_on_device 2"
    "agree_on_device 4")
  separate_arguments(what)
  list(POP_BACK what ranks)
  add_test(NAME parallel.${what}_${ranks}
    COMMAND ${MPIEXEC_EXECUTABLE} --oversubscribe --bind-to none -n ${ranks}
      $<TARGET_FILE:parallel_checks> ${what})
  set_tests_properties(parallel.${what}_${ranks} PROPERTIES
    TIMEOUT 300 ENVIRONMENT "${environment}")
endforeach()
add_test(NAME parallel.hang
  COMMAND ${APPROX_TEST_PYTHON} ${CMAKE_CURRENT_LIST_DIR}/parallel_checks/hang_test.py
    ${MPIEXEC_EXECUTABLE} $<TARGET_FILE:parallel_checks>)
add_test(NAME parallel.pause
  COMMAND ${APPROX_TEST_PYTHON} ${CMAKE_CURRENT_LIST_DIR}/parallel_checks/pause_test.py
    ${MPIEXEC_EXECUTABLE} $<TARGET_FILE:parallel_checks>)
set_tests_properties(parallel.hang parallel.pause PROPERTIES TIMEOUT 300)
# One rank, which needs no launcher. Several: `mpirun -n R parallel_checks cuda` where R GPUs are.
add_test(NAME parallel.cuda COMMAND parallel_checks cuda)
set_tests_properties(parallel.cuda PROPERTIES SKIP_RETURN_CODE 77 LABELS cuda TIMEOUT 300)
