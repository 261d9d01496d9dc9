# What --version says of the build, <build>/generated/build_info.h, and the experiment files that it
# was built beside, <build>/generated/experiment_digests.h: looked at in every build and rewritten
# only when something in them changed, so that a build without changes compiles nothing.
# Included by CMakeLists.txt, and run as a script by the target it adds.
if(CMAKE_SCRIPT_MODE_FILE)
  set(sha "unknown")
  set(dirty 0)
  find_package(Git QUIET)
  # Only a repository of our own: an unpacked archive may lie inside another one.
  if(GIT_FOUND AND EXISTS ${SOURCE}/.git)
    execute_process(COMMAND ${GIT_EXECUTABLE} -C ${SOURCE} rev-parse HEAD
      OUTPUT_VARIABLE head OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET RESULT_VARIABLE failed)
    if(NOT failed)
      set(sha ${head})
      # Only what enters the build counts. A page, a table or a measured database beside the
      # sources leaves the program as it is. Untracked files count if the build would find them.
      set(sources base cli cmake core experiments kernels products results
        ":(exclude)results/measured"
        CMakeLists.txt CMakePresets.json)
      execute_process(COMMAND ${GIT_EXECUTABLE} -C ${SOURCE} status --porcelain
        --untracked-files=no -- ${sources} OUTPUT_VARIABLE changes ERROR_QUIET)
      execute_process(COMMAND ${GIT_EXECUTABLE} -C ${SOURCE} ls-files --others --exclude-standard
        -- ${sources} OUTPUT_VARIABLE untracked ERROR_QUIET)
      # A name with unusual characters stands in quotes.
      if(changes OR untracked MATCHES
          "\\.(cpp|h|cu|cuh|cmake|css|gz|js|sql|toml|txt)\"?(\n|$)|(^|/)CMakeLists")
        set(dirty 1)
      endif()
    endif()
  endif()
  set(text "#pragma once\n")
  string(APPEND text "#define APPROX_GIT_SHA \"${sha}\"\n")
  string(APPEND text "#define APPROX_GIT_DIRTY ${dirty}\n")
  set(source ${sha})
  if(dirty)
    string(APPEND source "-dirty")
  endif()
  string(APPEND text "#define APPROX_SOURCE \"${source}\"\n")
  string(APPEND text "#define APPROX_VERSION \"${VERSION}\"\n")
  string(APPEND text "#define APPROX_BUILD_TYPE \"${TYPE}\"\n")
  string(APPEND text "#define APPROX_COMPILER \"${COMPILER}\"\n")
  string(APPEND text "#define APPROX_BUILD_FLAGS \"${FLAGS}\"\n")
  # Those of the commit, unless the build is dirty. A line each: "experiments/x.toml SHA256".
  file(GLOB_RECURSE experiments RELATIVE ${SOURCE} ${SOURCE}/experiments/*.toml)
  list(SORT experiments)
  set(digests "#pragma once\n#define APPROX_EXPERIMENT_DIGESTS \\\n")
  foreach(experiment ${experiments})
    file(SHA256 ${SOURCE}/${experiment} digest)
    string(APPEND digests "  \"${experiment} ${digest}\\n\" \\\n")
  endforeach()
  string(APPEND digests "  \"\"\n")
  function(write_changed path text)
    set(old "")
    if(EXISTS ${path})
      file(READ ${path} old)
    endif()
    if(NOT old STREQUAL text)
      file(WRITE ${path} "${text}")
    endif()
  endfunction()
  write_changed(${HEADER} "${text}")
  write_changed(${DIGESTS} "${digests}")
else()
  string(TOUPPER "CMAKE_CXX_FLAGS_${CMAKE_BUILD_TYPE}" type_flags)
  string(STRIP "${CMAKE_CXX_FLAGS} ${${type_flags}}" flags)
  add_custom_target(approx_build_info
    COMMAND ${CMAKE_COMMAND} -DSOURCE=${CMAKE_SOURCE_DIR} -DVERSION=${PROJECT_VERSION}
      -DHEADER=${CMAKE_BINARY_DIR}/generated/build_info.h
      -DDIGESTS=${CMAKE_BINARY_DIR}/generated/experiment_digests.h -DTYPE=${CMAKE_BUILD_TYPE}
      "-DCOMPILER=${CMAKE_CXX_COMPILER_ID} ${CMAKE_CXX_COMPILER_VERSION}" "-DFLAGS=${flags}"
      -P ${CMAKE_SOURCE_DIR}/cmake/build_info.cmake
    BYPRODUCTS ${CMAKE_BINARY_DIR}/generated/build_info.h
      ${CMAKE_BINARY_DIR}/generated/experiment_digests.h
    VERBATIM
    COMMENT "Looking at the version")
endif()
