# A program of the project's objects and of tests/additions/, which mirrors the tree: what is put at
# such a place is found there by nothing but its file.
file(GLOB_RECURSE added_plain CONFIGURE_DEPENDS
  additions/core/config/*.cpp additions/core/datasets/*.cpp)
file(GLOB_RECURSE added_torch CONFIGURE_DEPENDS
  additions/core/methods/*.cpp additions/core/networks/*.cpp additions/core/selections/*.cpp
  additions/core/studies/*.cpp additions/kernels/*.cpp)
file(GLOB_RECURSE added_reports CONFIGURE_DEPENDS additions/results/*.cpp)
add_library(added_plain OBJECT ${added_plain})
target_link_libraries(added_plain PUBLIC approx_headers)
add_library(added_torch OBJECT ${added_torch})
target_link_libraries(added_torch PUBLIC approx_headers approx_torch)
add_library(added_reports OBJECT ${added_reports})
target_link_libraries(added_reports PUBLIC approx_headers approx_store_dependencies)
# What a GPU runs is a library of its own; core_test opens it (tests/kernels/variant_test.cpp).
file(GLOB_RECURSE added_cuda CONFIGURE_DEPENDS additions/kernels/*.cu)
if(APPROX_CUDA_FOUND)
  approx_cuda_kernels(added_cuda ${added_cuda})
  add_dependencies(core_test added_cuda approxtrain_cuda)
  target_compile_definitions(core_test PRIVATE
    ADDED_CUDA_KERNELS="$<TARGET_FILE_NAME:added_cuda>")
endif()
include(program)
approx_program(additions IN_BOTH added_plain IN_LIBRARY added_torch IN_PROGRAM added_reports)

add_test(NAME cli.additions
  COMMAND ${CMAKE_COMMAND} -E env APPROXTRAIN_PROGRAM=$<TARGET_FILE:additions>
    APPROXTRAIN_ENGINE=$<TARGET_FILE:additions_library>
    ${APPROX_TEST_PYTHON} ${CMAKE_CURRENT_LIST_DIR}/additions_test.py)
set_tests_properties(cli.additions PROPERTIES TIMEOUT 300)
