# Fuzz targets: fuzz/NAME_fuzz.cpp each, a program fuzz_NAME each. In the preset `fuzz` libFuzzer
# drives them; elsewhere each is a test over its corpus and some mutations of it.
file(GLOB fuzz_sources CONFIGURE_DEPENDS fuzz/*_fuzz.cpp)
# Mutations that a test tries: so many take seconds under sanitizers. A target that does much with
# an input tries fewer.
set(fuzz_mutations 6000)
set(fuzz_mutations_experiment 1000)
set(fuzz_mutations_packed 2000)
set(fuzz_mutations_events 2000)
set(fuzz_mutations_store 400)

# What several targets share, compiled once.
add_library(fuzz_frame OBJECT fuzz/frame.cpp
  ${CMAKE_SOURCE_DIR}/cli/text.cpp ${CMAKE_SOURCE_DIR}/cli/sweep/observed.cpp
  ${CMAKE_SOURCE_DIR}/cli/process/protocol.cpp)
target_link_libraries(fuzz_frame PUBLIC approx_headers)
if(NOT APPROX_FUZZ)
  target_sources(fuzz_frame PRIVATE fuzz/driver.cpp fuzz/short_memory.cpp)
endif()

add_custom_target(fuzz_targets)
foreach(source ${fuzz_sources})
  get_filename_component(name ${source} NAME_WE)
  string(REGEX REPLACE "_fuzz$" "" name ${name})
  add_executable(fuzz_${name} ${source})
  target_link_libraries(fuzz_${name} PRIVATE fuzz_frame approx_python approx_base approx_products
    approx_digest approx_config approx_catalogue approx_data approx_results GTest::gtest)
  target_include_directories(fuzz_${name} PRIVATE ${CMAKE_BINARY_DIR})
  add_dependencies(fuzz_targets fuzz_${name})
  if(APPROX_FUZZ)
    target_link_options(fuzz_${name} PRIVATE -fsanitize=fuzzer)
  else()
    if(NOT DEFINED fuzz_mutations_${name})
      set(fuzz_mutations_${name} ${fuzz_mutations})
    endif()
    # The driver tells frames of libraries from those of the program.
    set_target_properties(fuzz_${name} PROPERTIES ENABLE_EXPORTS TRUE)
    add_test(NAME fuzz.${name} COMMAND fuzz_${name} ${fuzz_mutations_${name}}
      ${CMAKE_CURRENT_LIST_DIR}/fuzz/corpus/${name})
    set_tests_properties(fuzz.${name} PROPERTIES TIMEOUT 900 LABELS fuzz)
  endif()
endforeach()
