# Everything that needs no LibTorch, in one program.
file(GLOB_RECURSE plain_tests CONFIGURE_DEPENDS
  base/*_test.cpp core/config/*_test.cpp core/experiment/*_test.cpp core/data/*_test.cpp
  core/data/*_slow.cpp core/python/*_test.cpp core/train/trace/*_test.cpp results/*_test.cpp
  cli/*_test.cpp)
# The page of `serve`, by itself: its room is a library of its own.
list(FILTER plain_tests EXCLUDE REGEX "/cli/serve/")
file(GLOB serve_tests CONFIGURE_DEPENDS cli/serve/*_test.cpp)
approx_test(serve_test
  SOURCES ${serve_tests}
  LIBRARIES approx_serve approx_base approx_products approx_digest approx_config approx_catalogue
    approx_data approx_results)
# Of the program, as far as it is tested without its commands.
set(cli_sources
  machine plot text
  bench/choices bench/network_shapes bench/pairs bench/products bench/tuned_rules
  doctor/findings
  process/core_pool process/core_waits process/disturbance process/event_log
  process/machine_cores process/machine_name process/memory_kills process/pause_watch
  process/protocol
  ranks/allocation ranks/job_end ranks/launch ranks/rank_failure ranks/session_folder
  slurm/request slurm/script slurm/split
  sweep/controls sweep/library_watch sweep/observed sweep/progress_line sweep/run_queue
  sweep/spelling)
list(TRANSFORM cli_sources PREPEND ${CMAKE_SOURCE_DIR}/cli/)
list(TRANSFORM cli_sources APPEND .cpp)
approx_test(plain_test
  SOURCES ${plain_tests} ${cli_sources} ${CMAKE_SOURCE_DIR}/core/train/trace/trace_writer.cpp
  LIBRARIES approx_base approx_products approx_digest approx_config approx_catalogue approx_data
    approx_results approx_python
    CLI11::CLI11 benchmark::benchmark
  SLOW Cifar10.*:Imagenette.*)
# In a header and not on the command line, by which every clone would compile all tests anew.
file(CONFIGURE OUTPUT ${CMAKE_BINARY_DIR}/generated/source_dir.h
  CONTENT "#pragma once\n#define APPROX_SOURCE_DIR \"${CMAKE_SOURCE_DIR}\"\n")
target_include_directories(plain_test PRIVATE ${CMAKE_BINARY_DIR})
