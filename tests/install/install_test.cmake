# Run by ctest: cmake -D BUILD=... -D SOURCE=... -P install_test.cmake
set(place ${BUILD}/tests/installed)
set(prefix "${place}/a prefix")  # a space, as in many people's folders
set(elsewhere ${place}/elsewhere)
file(REMOVE_RECURSE ${place})
file(MAKE_DIRECTORY ${elsewhere})

execute_process(
  COMMAND ${CMAKE_COMMAND} --install ${BUILD} --prefix ${prefix}
  OUTPUT_QUIET ERROR_VARIABLE errors RESULT_VARIABLE code)
if(NOT code EQUAL 0)
  message(FATAL_ERROR "cmake --install failed (${code}): ${errors}")
endif()

# The settings of whoever runs the tests, and of the build, must not help.
foreach(variable LD_LIBRARY_PATH APPROXTRAIN_DB APPROXTRAIN_DATA APPROXTRAIN_ENGINE)
  unset(ENV{${variable}})
endforeach()
foreach(variable XDG_CONFIG_HOME XDG_DATA_HOME XDG_CACHE_HOME XDG_STATE_HOME)
  set(ENV{${variable}} ${place}/xdg)
endforeach()

# expect(PATTERN ARGUMENTS...): exit code 0, and standard output matches.
function(expect pattern)
  execute_process(
    COMMAND ${prefix}/bin/approxtrain ${ARGN}
    WORKING_DIRECTORY ${elsewhere}
    OUTPUT_VARIABLE output ERROR_VARIABLE errors RESULT_VARIABLE code)
  if(NOT code EQUAL 0)
    message(FATAL_ERROR "approxtrain ${ARGN}: exit code ${code}\n${output}\n${errors}")
  endif()
  if(NOT output MATCHES "${pattern}")
    message(FATAL_ERROR "approxtrain ${ARGN}: nothing like \"${pattern}\" in\n${output}")
  endif()
endfunction()

expect("approxtrain [0-9]+\\.[0-9]+\\.[0-9]+" --version)
expect("topk_position" list methods)
expect("resnet20" list networks)
expect("dense" sweep @quickstart --dry-run)
expect("Exact training in bf16" advice --hardware cpu)
# This opens the library, and with it LibTorch.
expect("topk_position" bench-kernel --shape N2,C4,K4,H5,R3 --method topk_position --repetitions 2
       --min-time 1ms --format csv --no-store)

# What listens for `serve` is found: exit code 6 is of the database, without the library it is 2.
if(EXISTS "${prefix}/lib/libapproxtrain_http.so")
  execute_process(COMMAND ${prefix}/bin/approxtrain serve --db nowhere/t.db
    WORKING_DIRECTORY ${elsewhere} ERROR_VARIABLE errors RESULT_VARIABLE code)
  if(NOT code EQUAL 6)
    message(FATAL_ERROR "approxtrain serve: exit code ${code}, not 6\n${errors}")
  endif()
endif()

# The shapes that bench-kernel takes where it is given none.
if(NOT EXISTS "${prefix}/share/approxtrain/experiments/shapes/wang2019_table1.txt")
  message(FATAL_ERROR "the shapes of bench-kernel are not installed")
endif()

# What --python starts: a method in Python that does nothing, where this Python has PyTorch.
find_program(python python3)
execute_process(COMMAND ${python} -c "import torch" RESULT_VARIABLE lacks_torch ERROR_QUIET)
if(NOT lacks_torch)
  file(WRITE ${place}/my.py "import approxtrain\napproxtrain.method('same')(lambda dy: dy)\n")
  expect("same" sweep @quickstart --python ${place}/my.py --python-executable ${python}
         --method same --purpose accuracy --dry-run)
endif()

file(GLOB written ${elsewhere}/*)
if(written)
  message(FATAL_ERROR "these commands write nothing, but left ${written}")
endif()

# No path to the experiments of the sources is built in. (Other paths may be: an assertion of a
# Debug build names its file.)
foreach(binary bin/approxtrain lib/libapproxtrain.so)
  file(STRINGS ${prefix}/${binary} paths REGEX "${SOURCE}/experiments" LIMIT_COUNT 1)
  if(paths)
    message(FATAL_ERROR "${binary} holds a path of the sources: ${paths}")
  endif()
endforeach()
file(REMOVE_RECURSE ${place})
