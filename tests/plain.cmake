# Everything that needs no LibTorch, in one program.
file(GLOB_RECURSE plain_tests CONFIGURE_DEPENDS
  base/*_test.cpp core/config/*_test.cpp core/experiment/*_test.cpp core/data/*_test.cpp
  core/data/*_slow.cpp core/train/trace/*_test.cpp results/*_test.cpp cli/*_test.cpp)
approx_test(plain_test
  SOURCES ${plain_tests} ${CMAKE_SOURCE_DIR}/core/train/trace/trace_writer.cpp
    ${CMAKE_SOURCE_DIR}/cli/text.cpp ${CMAKE_SOURCE_DIR}/cli/plot.cpp
    ${CMAKE_SOURCE_DIR}/cli/core_waits.cpp
    ${CMAKE_SOURCE_DIR}/cli/disturbance.cpp ${CMAKE_SOURCE_DIR}/cli/pause_watch.cpp
    ${CMAKE_SOURCE_DIR}/cli/machine.cpp
    ${CMAKE_SOURCE_DIR}/cli/doctor/findings.cpp
    ${CMAKE_SOURCE_DIR}/cli/ranks/allocation.cpp ${CMAKE_SOURCE_DIR}/cli/ranks/job_end.cpp
    ${CMAKE_SOURCE_DIR}/cli/ranks/launcher.cpp ${CMAKE_SOURCE_DIR}/cli/ranks/rank_failure.cpp
    ${CMAKE_SOURCE_DIR}/cli/ranks/session_folder.cpp
    ${CMAKE_SOURCE_DIR}/cli/sweep/event_log.cpp ${CMAKE_SOURCE_DIR}/cli/sweep/protocol.cpp
    ${CMAKE_SOURCE_DIR}/cli/sweep/controls.cpp ${CMAKE_SOURCE_DIR}/cli/sweep/core_pool.cpp
    ${CMAKE_SOURCE_DIR}/cli/sweep/library_watch.cpp
    ${CMAKE_SOURCE_DIR}/cli/sweep/machine_cores.cpp ${CMAKE_SOURCE_DIR}/cli/sweep/machine_name.cpp
    ${CMAKE_SOURCE_DIR}/cli/sweep/memory_kills.cpp ${CMAKE_SOURCE_DIR}/cli/sweep/observed.cpp
    ${CMAKE_SOURCE_DIR}/cli/sweep/run_queue.cpp ${CMAKE_SOURCE_DIR}/cli/sweep/spelling.cpp
    ${CMAKE_SOURCE_DIR}/cli/slurm/request.cpp ${CMAKE_SOURCE_DIR}/cli/slurm/script.cpp
    ${CMAKE_SOURCE_DIR}/cli/slurm/split.cpp
    ${CMAKE_SOURCE_DIR}/cli/bench/choices.cpp ${CMAKE_SOURCE_DIR}/cli/bench/network_shapes.cpp
    ${CMAKE_SOURCE_DIR}/cli/bench/pairs.cpp ${CMAKE_SOURCE_DIR}/cli/bench/products.cpp
    ${CMAKE_SOURCE_DIR}/cli/bench/tuned_rules.cpp
  LIBRARIES approx_base approx_digest approx_config approx_catalogue approx_data approx_results
    CLI11::CLI11 benchmark::benchmark
  SLOW Cifar10.*:Imagenette.*)
# In a header and not on the command line, by which every clone would compile all tests anew.
file(CONFIGURE OUTPUT ${CMAKE_BINARY_DIR}/generated/source_dir.h
  CONTENT "#pragma once\n#define APPROX_SOURCE_DIR \"${CMAKE_SOURCE_DIR}\"\n")
target_include_directories(plain_test PRIVATE ${CMAKE_BINARY_DIR})
