find_program(APPROX_TORCH_PYTHON NAMES python3 HINTS ${CMAKE_SOURCE_DIR}/.venv/bin NO_DEFAULT_PATH)
if(APPROX_TORCH_PYTHON)  # the Python whose PyTorch the library was built with
  add_test(NAME python.operators
    COMMAND ${APPROX_TORCH_PYTHON} ${CMAKE_CURRENT_SOURCE_DIR}/python/ops_test.py
            $<TARGET_FILE:approxtrain_library>)
  set_tests_properties(python.operators PROPERTIES TIMEOUT 300 LABELS release)
endif()
