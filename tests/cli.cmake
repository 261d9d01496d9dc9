# The engine that misbehaves on demand, and the tests of the program with it.
add_library(fake_engine MODULE ${CMAKE_CURRENT_LIST_DIR}/cli/fake_engine.cpp)
set_target_properties(fake_engine PROPERTIES PREFIX "")
target_link_libraries(fake_engine
  PRIVATE approx_base approx_products approx_digest approx_config approx_catalogue)
target_include_directories(fake_engine PRIVATE ${CMAKE_BINARY_DIR})
add_dependencies(fake_engine approx_build_info)

# What makes the file system fail under a program.
add_library(fault_shim MODULE ${CMAKE_CURRENT_LIST_DIR}/cli/fault_shim.cpp)
set_target_properties(fault_shim PROPERTIES PREFIX "")
target_link_libraries(fault_shim PRIVATE ${CMAKE_DL_LIBS})

# What steps a program's clocks.
add_library(clock_shim MODULE ${CMAKE_CURRENT_LIST_DIR}/cli/clock_shim.cpp)
set_target_properties(clock_shim PROPERTIES PREFIX "")
target_link_libraries(clock_shim PRIVATE ${CMAKE_DL_LIBS})

# What lets a program run short of memory.
add_library(memory_shim MODULE ${CMAKE_CURRENT_LIST_DIR}/cli/memory_shim.cpp)
set_target_properties(memory_shim PROPERTIES PREFIX "")
target_link_libraries(memory_shim PRIVATE ${CMAKE_DL_LIBS})

find_program(APPROX_TEST_PYTHON NAMES python3 REQUIRED)
function(approx_cli_test name timeout)
  add_test(NAME cli.${name}
    COMMAND ${CMAKE_COMMAND} -E env
      APPROXTRAIN_PROGRAM=$<TARGET_FILE:approxtrain>
      APPROXTRAIN_FAKE_ENGINE=$<TARGET_FILE:fake_engine>
      APPROXTRAIN_FAULT_SHIM=$<TARGET_FILE:fault_shim>
      APPROXTRAIN_CLOCK_SHIM=$<TARGET_FILE:clock_shim>
      APPROXTRAIN_MEMORY_SHIM=$<TARGET_FILE:memory_shim>
      ${APPROX_TEST_PYTHON} ${CMAKE_CURRENT_FUNCTION_LIST_DIR}/cli/${ARGN})
  set_tests_properties(cli.${name} PROPERTIES TIMEOUT ${timeout})
endfunction()

file(GLOB cli_texts CONFIGURE_DEPENDS ${CMAKE_CURRENT_LIST_DIR}/cli/*.test)
foreach(text ${cli_texts})
  get_filename_component(name ${text} NAME_WE)
  approx_cli_test(${name} 300 run_text.py ${text})
endforeach()
approx_cli_test(workers 600 workers_test.py)
approx_cli_test(signals 600 signals_test.py)
approx_cli_test(pauses 120 pauses_test.py)
approx_cli_test(archives 300 archives_test.py)
approx_cli_test(library 300 library_test.py)
approx_cli_test(disturbed_timings 120 disturbed_timings_test.py)
approx_cli_test(sweep_status 300 sweep_status_test.py)
approx_cli_test(kills 1200 kills_test.py)
approx_cli_test(coordinators 600 coordinators_test.py)
approx_cli_test(faults 1200 faults_test.py)
approx_cli_test(store_faults 1200 store_faults_test.py)
approx_cli_test(power_loss 600 power_loss_test.py)
approx_cli_test(network_store 120 network_store_test.py)
approx_cli_test(memory 300 memory_test.py)
approx_cli_test(locked_store 300 locked_store_test.py)
approx_cli_test(readers 300 readers_test.py)
approx_cli_test(orders 300 orders_test.py)
approx_cli_test(streams 120 streams_test.py)
approx_cli_test(growth 600 growth_test.py)
approx_cli_test(merge 120 merge_test.py)
approx_cli_test(rebuild 600 rebuild_test.py)
approx_cli_test(targets 120 targets_test.py)
approx_cli_test(budget 120 budget_test.py)
approx_cli_test(flag_grid 300 flag_grid_test.py)
approx_cli_test(show_method 120 show_method_test.py)
approx_cli_test(python_methods 300 python_methods_test.py)
set_tests_properties(cli.python_methods PROPERTIES SKIP_RETURN_CODE 77)
approx_cli_test(cores 600 cores_test.py)
approx_cli_test(stop_at_target 600 stop_at_target_test.py)
approx_cli_test(terminal_session 120 terminal_session_test.py)
approx_cli_test(patience 600 patience_test.py)
approx_cli_test(migration_kills 600 migration_kills_test.py)
approx_cli_test(paths 300 paths_test.py)
approx_cli_test(permissions 300 permissions_test.py)
approx_cli_test(report_fixtures 300 report_fixtures_test.py)
approx_cli_test(outputs 300 outputs_test.py)
approx_cli_test(user_folders 300 user_folders_test.py)
approx_cli_test(checkpoints 1800 checkpoints_test.py)
approx_cli_test(recorded 600 recorded_test.py)
approx_cli_test(changed_files 120 changed_files_test.py)
approx_cli_test(slurm 900 slurm_test.py)
approx_cli_test(slurm_commands 300 slurm_commands_test.py)
approx_cli_test(run_path 60 run_path_test.py)
approx_cli_test(ranks 900 ranks_test.py)
approx_cli_test(rank_trainings 900 rank_trainings_test.py)
approx_cli_test(rank_bandwidth 900 rank_bandwidth_test.py)
approx_cli_test(gpu_ranks 300 gpu_ranks_test.py)
# A tenth of the full figures, and of growth, whose tenth takes minutes, a hundredth.
approx_cli_test(slow_signals 600 signals_test.py 10)
approx_cli_test(slow_coordinators 900 coordinators_test.py 8 500 2)
approx_cli_test(slow_growth 600 growth_test.py 1000)
set_tests_properties(cli.kills cli.checkpoints cli.slurm cli.ranks cli.rank_trainings
  cli.rank_bandwidth cli.slow_signals cli.slow_coordinators cli.slow_growth PROPERTIES LABELS slow)
# At full figures, as scripts/reliability records them.
approx_cli_test(full_kills 7200 kills_test.py 200)
approx_cli_test(full_power 7200 power_loss_test.py all)
approx_cli_test(full_faults 7200 faults_test.py 1)
approx_cli_test(full_stores 7200 store_faults_test.py 1)
approx_cli_test(full_locks 3600 locked_store_test.py 90 10)
add_test(NAME cli.full_data COMMAND ${CMAKE_COMMAND} -E env APPROXTRAIN_TEST_FULL=1
  $<TARGET_FILE:plain_test> --gtest_brief=1 --gtest_filter=DamagedData.*)
approx_cli_test(full_memory 7200 memory_test.py full)
approx_cli_test(full_network 300 network_store_test.py)
approx_cli_test(full_paths 300 paths_test.py)
approx_cli_test(full_permissions 300 permissions_test.py)
approx_cli_test(full_readers 3600 readers_test.py 1000)
approx_cli_test(full_reports 1800 report_fixtures_test.py all)
approx_cli_test(full_coordinators 7200 coordinators_test.py 8 500 20)
approx_cli_test(full_orders 7200 orders_test.py 20 trained)
approx_cli_test(full_signals 14400 signals_test.py 100)
approx_cli_test(full_hangs 3600 hangs_test.py 100)
approx_cli_test(full_streams 300 streams_test.py)
approx_cli_test(full_growth 7200 growth_test.py 100000)
approx_cli_test(full_migrations 3600 migration_kills_test.py 100 1)
approx_cli_test(full_rebuild 7200 rebuild_test.py 200)
approx_cli_test(full_slurm 3600 slurm_test.py 40 10)
approx_cli_test(full_ranks 3600 ranks_test.py 100)
approx_cli_test(full_library 3600 library_test.py 20)
approx_cli_test(full_load 3600 disturbed_timings_test.py 100)
set_tests_properties(cli.slurm cli.full_slurm cli.ranks cli.rank_trainings cli.rank_bandwidth
  cli.gpu_ranks cli.full_ranks PROPERTIES SKIP_RETURN_CODE 77)
set_tests_properties(cli.full_kills cli.full_power cli.full_faults cli.full_stores cli.full_locks
  cli.full_readers cli.full_coordinators cli.full_orders cli.full_signals cli.full_hangs
  cli.full_streams cli.full_growth cli.full_migrations cli.full_rebuild cli.full_slurm
  cli.full_ranks cli.full_library cli.full_load cli.full_network cli.full_paths
  cli.full_permissions cli.full_reports cli.full_memory cli.full_data PROPERTIES LABELS full)
# It needs a core that is idle.
set_tests_properties(cli.disturbed_timings PROPERTIES RUN_SERIAL TRUE)
# A sanitizer takes the signals and the memory that these look at, or wants to be loaded first.
set_tests_properties(cli.workers cli.faults cli.store_faults cli.power_loss cli.readers cli.growth
  cli.budget cli.network_store cli.migration_kills cli.memory PROPERTIES LABELS release)
set_tests_properties(cli.memory cli.full_memory PROPERTIES SKIP_RETURN_CODE 77)

approx_cli_test(mnist_methods 900 mnist_methods_test.py)
set_tests_properties(cli.mnist_methods PROPERTIES LABELS slow SKIP_RETURN_CODE 77 PROCESSORS 2)
approx_cli_test(hints 300 hints_test.py)
approx_cli_test(timing_retries 120 timing_retries_test.py)
approx_cli_test(slips 600 slips_test.py)
approx_cli_test(plots 120 plots_test.py)
approx_cli_test(hostile_folder 120 hostile_folder_test.py)
approx_cli_test(gpu_suite 300 gpu_suite_test.py)
approx_cli_test(gpu_card 300 gpu_card_test.py)
if(TARGET approxtrain_trace)
  # Opened by the name of the version that the library was compiled for.
  file(STRINGS ${APPROX_CUPTI_DIR}/cupti_version.h cupti_version
    REGEX "^#define CUPTI_API_VERSION [0-9]+$")
  string(REGEX MATCH "[0-9]+$" cupti_version "${cupti_version}")
  math(EXPR cupti_version "${cupti_version} / 10000")
  add_library(fake_cupti MODULE ${CMAKE_CURRENT_LIST_DIR}/core/train/trace/fake_cupti.cpp)
  target_include_directories(fake_cupti SYSTEM PRIVATE ${APPROX_CUPTI_INCLUDE})
  set_target_properties(fake_cupti PROPERTIES PREFIX "" OUTPUT_NAME libcupti
    SUFFIX .so.${cupti_version} LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/fake_cupti)
  approx_cli_test(gpu_trace 60 gpu_trace_test.py $<TARGET_FILE:approxtrain_trace>
    $<TARGET_FILE_DIR:fake_cupti>)
else()
  approx_cli_test(gpu_trace 60 gpu_trace_test.py)
endif()
# A sanitizer wants to be loaded first.
set_tests_properties(cli.gpu_trace PROPERTIES LABELS release)
set_tests_properties(cli.plots cli.hostile_folder cli.gpu_suite cli.gpu_card PROPERTIES
  SKIP_RETURN_CODE 77)
set_tests_properties(cli.gpu_card PROPERTIES LABELS slow)
approx_cli_test(analysis 300 analysis_test.py)
set_tests_properties(cli.analysis PROPERTIES SKIP_RETURN_CODE 77)
approx_cli_test(docs 60 docs_test.py)
approx_cli_test(help_words 60 help_words_test.py)
add_test(NAME docs.questions COMMAND ${APPROX_TEST_PYTHON}
  ${CMAKE_CURRENT_LIST_DIR}/docs/questions_test.py)
approx_cli_test(site 300 site_test.py)
set_tests_properties(cli.site PROPERTIES LABELS slow SKIP_RETURN_CODE 77)
add_test(NAME build_info COMMAND ${APPROX_TEST_PYTHON}
  ${CMAKE_CURRENT_LIST_DIR}/cmake/build_info_test.py ${CMAKE_COMMAND})
set_tests_properties(build_info PROPERTIES SKIP_RETURN_CODE 77 TIMEOUT 300)
add_test(NAME check_text COMMAND ${APPROX_TEST_PYTHON}
  ${CMAKE_CURRENT_LIST_DIR}/cmake/check_text_test.py)
set_tests_properties(check_text PROPERTIES SKIP_RETURN_CODE 77 TIMEOUT 120)
approx_cli_test(latex 300 latex_test.py)
set_tests_properties(cli.latex PROPERTIES SKIP_RETURN_CODE 77)
add_executable(markdown_tables ${CMAKE_CURRENT_LIST_DIR}/results/render/markdown_tables.cpp)
target_link_libraries(markdown_tables PRIVATE
  approx_base approx_products approx_digest approx_config approx_catalogue approx_data
  approx_results)
add_test(NAME results.markdown COMMAND ${APPROX_TEST_PYTHON}
  ${CMAKE_CURRENT_LIST_DIR}/results/render/markdown_test.py $<TARGET_FILE:markdown_tables>)
set_tests_properties(results.markdown PROPERTIES SKIP_RETURN_CODE 77 TIMEOUT 300)
approx_cli_test(null_timings 60 null_timings_test.py)
approx_cli_test(measure_products 120 measure_products_test.py)
approx_cli_test(items 1800 items_test.py)
set_tests_properties(cli.items PROPERTIES LABELS slow PROCESSORS 2)
approx_cli_test(screens 120
  screens_test.py ${CMAKE_SOURCE_DIR}/results/measured/amd-epyc-2core-2026-11-22/quickstart.db)
approx_cli_test(html_page 300
  html_page_test.py ${CMAKE_SOURCE_DIR}/results/measured/amd-epyc-2core-2026-11-21/wang2019.db)
set_tests_properties(cli.html_page PROPERTIES SKIP_RETURN_CODE 77)
if(TARGET approxtrain_http)
  approx_cli_test(serve 120 serve_test.py)
  approx_cli_test(serve_page 120 serve_page_test.py)
  set_tests_properties(cli.serve_page PROPERTIES SKIP_RETURN_CODE 77)
endif()
# docs/results/ is made from the databases in results/measured/ and from nothing else.
add_test(NAME cli.results_page
  COMMAND ${CMAKE_COMMAND} -E env APPROXTRAIN_PROGRAM=$<TARGET_FILE:approxtrain>
    ${APPROX_TEST_PYTHON} ${CMAKE_SOURCE_DIR}/scripts/make-results --check)
# Hundreds of reports: too long with sanitizers, which see each kind in other tests.
set_tests_properties(cli.results_page PROPERTIES TIMEOUT 300 LABELS release)
