# Language level, warnings, sanitizers, compiler cache.
if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "Debug, Release or RelWithDebInfo" FORCE)
endif()
# Kernels are worth more (CMakeLists.txt); for everything else -O3 only costs build time.
set(CMAKE_CXX_FLAGS_RELEASE "-O2 -DNDEBUG")
option(APPROX_TESTS "Build the tests" ON)
option(APPROX_OPERATORS_ONLY "Build the operators for Python and nothing else (python/)" OFF)
option(APPROX_WERROR "Treat warnings as errors" OFF)
set(APPROX_SANITIZE "" CACHE STRING "Sanitizers, as for -fsanitize= (address,undefined)")

option(APPROX_FUZZ "Link the fuzz targets with libFuzzer (the preset fuzz; needs clang)" OFF)

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
set(CMAKE_UNITY_BUILD_RELOCATABLE ON)  # so that one clone finds what another compiled
set(CMAKE_LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR})
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR})

# The compiler of CUDA takes options of its own (cmake/cuda.cmake).
macro(approx_cxx_options)
  foreach(option ${ARGN})
    add_compile_options($<$<COMPILE_LANGUAGE:CXX>:${option}>)
  endforeach()
endmacro()
approx_cxx_options(-Wall -Wextra -Wno-missing-field-initializers)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
  approx_cxx_options(-Wno-restrict)  # false alarms on std::string, GCC bug 105329
endif()
if(APPROX_WERROR)
  approx_cxx_options(-Werror)
endif()
if(APPROX_SANITIZE)
  approx_cxx_options(-fsanitize=${APPROX_SANITIZE} -fno-omit-frame-pointer)
  add_link_options(-fsanitize=${APPROX_SANITIZE})
endif()
if(APPROX_FUZZ)
  approx_cxx_options(-fno-sanitize-recover=all)  # every finding ends the run
endif()

# Every run says which library made it, also where there is no repository (base/build_id.h).
add_link_options(LINKER:--build-id=sha1)

find_program(APPROX_CCACHE ccache)
if(APPROX_CCACHE)
  # The precompiled header's timestamp differs in every clone; its content is what matters. Paths
  # inside the tree are taken relative to it, so that one clone finds what another compiled.
  set(CMAKE_CXX_COMPILER_LAUNCHER
      ${CMAKE_COMMAND} -E env
      CCACHE_BASEDIR=${CMAKE_SOURCE_DIR} CCACHE_NOHASHDIR=1
      CCACHE_SLOPPINESS=pch_defines,time_macros,include_file_mtime,include_file_ctime
      ${APPROX_CCACHE})
  approx_cxx_options(-fpch-preprocess)
endif()
find_program(APPROX_MOLD mold)
if(APPROX_MOLD AND NOT APPROX_SANITIZE)
  add_link_options(-fuse-ld=mold)
endif()
