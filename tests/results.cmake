approx_test(stats_test SOURCES results/stats_test.cpp LIBRARIES approx_results approx_spec)
approx_test(run_store_test SOURCES results/run_store_test.cpp LIBRARIES approx_results approx_spec)
approx_test(report_test SOURCES results/report_test.cpp LIBRARIES approx_results approx_spec)
approx_test(maintenance_test
  SOURCES results/maintenance_test.cpp LIBRARIES approx_results approx_spec)

foreach(name time_to_target pareto profile paper_report html table)
  approx_test(${name}_test SOURCES results/${name}_test.cpp LIBRARIES approx_results approx_spec)
endforeach()
