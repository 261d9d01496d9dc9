find_program(APPROX_TORCH_PYTHON NAMES python3 HINTS ${CMAKE_SOURCE_DIR}/.venv/bin NO_DEFAULT_PATH)
if(APPROX_TORCH_PYTHON)  # the Python whose PyTorch the library was built with
  # Every number of the committed databases, by NumPy and SciPy.
  add_test(NAME python.recompute
    COMMAND ${APPROX_TORCH_PYTHON} ${CMAKE_CURRENT_SOURCE_DIR}/recompute/recompute_test.py
            $<TARGET_FILE:approxtrain> ${CMAKE_SOURCE_DIR}/results/measured)
  # What is in none of them: backward passes by themselves, estimates of the time to a target.
  add_test(NAME python.recompute_smoke
    COMMAND ${APPROX_TORCH_PYTHON} ${CMAKE_CURRENT_SOURCE_DIR}/recompute/recompute_test.py
            $<TARGET_FILE:approxtrain> --smoke ye2020:figure4 mcdanel2022:figure10)
  set_tests_properties(python.recompute PROPERTIES LABELS release)  # as cli.results_page
  set_tests_properties(python.recompute python.recompute_smoke PROPERTIES TIMEOUT 300)
  # What scripts/make-results puts into docs/findings.md.
  add_test(NAME python.findings
    COMMAND ${APPROX_TORCH_PYTHON} ${CMAKE_CURRENT_SOURCE_DIR}/python/findings_test.py)
  # In which form docs/results/ shows reports.
  add_test(NAME python.plain_results
    COMMAND ${APPROX_TORCH_PYTHON} ${CMAKE_CURRENT_SOURCE_DIR}/python/plain_results_test.py)
  # What scripts/check-text asks of pages for strangers.
  add_test(NAME python.plain_words
    COMMAND ${APPROX_TORCH_PYTHON} ${CMAKE_CURRENT_SOURCE_DIR}/python/plain_words_test.py)
  # A page that is followed to the letter.
  add_test(NAME python.record_page
    COMMAND ${APPROX_TORCH_PYTHON} ${CMAKE_CURRENT_SOURCE_DIR}/python/record_page_test.py)
  # Recordings of pages are those of the pages as they are.
  add_test(NAME python.recordings
    COMMAND ${APPROX_TORCH_PYTHON} ${CMAKE_CURRENT_SOURCE_DIR}/python/recordings_test.py)
  # What scripts/make-results makes of the decision table: intervals, verdicts, the answer, the
  # length of the page.
  add_test(NAME python.which_method
    COMMAND ${APPROX_TORCH_PYTHON} ${CMAKE_CURRENT_SOURCE_DIR}/python/which_method_test.py)
  # What scripts/rank-bandwidth fits.
  add_test(NAME python.bandwidth_model
    COMMAND ${APPROX_TORCH_PYTHON} ${CMAKE_CURRENT_SOURCE_DIR}/python/bandwidth_model_test.py)
  # The pictures of the methods' cards.
  add_test(NAME python.draw_methods
    COMMAND ${APPROX_TORCH_PYTHON} ${CMAKE_SOURCE_DIR}/scripts/draw-methods --check
            --library $<TARGET_FILE:approxtrain_library>)
  set_tests_properties(python.draw_methods PROPERTIES TIMEOUT 300 LABELS release)
  # The whole library, and the operators alone.
  foreach(library approxtrain_library approxtrain_operators)
    string(REPLACE approxtrain_library operators name ${library})
    string(REPLACE approxtrain_operators operators_alone name ${name})
    add_test(NAME python.${name}
      COMMAND ${APPROX_TORCH_PYTHON} ${CMAKE_CURRENT_SOURCE_DIR}/python/ops_test.py
              $<TARGET_FILE:${library}>)
    set_tests_properties(python.${name} PROPERTIES TIMEOUT 300 LABELS release)
  endforeach()
  # What traces, transforms and differentiates them.
  add_test(NAME python.operators_traced
    COMMAND ${APPROX_TORCH_PYTHON} ${CMAKE_CURRENT_SOURCE_DIR}/python/trace_test.py
            $<TARGET_FILE:approxtrain_operators>)
  set_tests_properties(python.operators_traced PROPERTIES TIMEOUT 600 LABELS release)
  # The Python package, with the library of this build in place of a wheel's; python.wheel builds a
  # wheel and uses it away from the tree.
  set(marker_of_package "not slow and not wheel")
  set(marker_of_package_slow slow)
  set(marker_of_wheel wheel)
  foreach(part package package_slow wheel)
    add_test(NAME python.${part}
      COMMAND ${CMAKE_COMMAND} -E env APPROXTRAIN_LIBRARY=$<TARGET_FILE:approxtrain_operators>
              APPROXTRAIN_PROGRAM=$<TARGET_FILE:approxtrain> PYTHONDONTWRITEBYTECODE=1
              PYTHONPATH=${CMAKE_SOURCE_DIR}/python/src
              ${APPROX_TORCH_PYTHON} -m pytest ${CMAKE_SOURCE_DIR}/python -m "${marker_of_${part}}")
  endforeach()
  # The notebooks, with the library and the program of this build.
  add_test(NAME python.notebooks
    COMMAND ${CMAKE_COMMAND} -E env APPROXTRAIN_LIBRARY=$<TARGET_FILE:approxtrain_operators>
            APPROXTRAIN_PROGRAM=$<TARGET_FILE:approxtrain>
            ${APPROX_TORCH_PYTHON} ${CMAKE_CURRENT_SOURCE_DIR}/python/notebooks_test.py)
  set_tests_properties(python.notebooks PROPERTIES SKIP_RETURN_CODE 77 TIMEOUT 400 LABELS release)
  set_tests_properties(python.package PROPERTIES TIMEOUT 600 LABELS release)
  set_tests_properties(python.package_slow PROPERTIES TIMEOUT 900 LABELS "slow;release")
  set_tests_properties(python.wheel PROPERTIES TIMEOUT 1800 LABELS full)
endif()
