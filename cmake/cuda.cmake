# CUDA is a language of the build where there is a compiler for it; a machine without one builds
# everything else. Kernels see no header of LibTorch and link none of its libraries.
option(APPROX_CUDA "Compile kernels/<plan>/*.cu where there is a CUDA compiler" ON)
set(APPROX_CUDA_FOUND OFF)
if(APPROX_CUDA)
  if(NOT CMAKE_CUDA_COMPILER AND NOT DEFINED ENV{CUDACXX})
    find_program(APPROX_NVCC nvcc HINTS ENV CUDA_PATH ENV CUDA_HOME PATHS /usr/local/cuda
                 PATH_SUFFIXES bin)
    if(APPROX_NVCC)
      set(CMAKE_CUDA_COMPILER ${APPROX_NVCC})
    endif()
  endif()
  if(NOT CMAKE_CUDA_ARCHITECTURES)
    set(CMAKE_CUDA_ARCHITECTURES 90 CACHE STRING "GPU architectures: 80, 90a, 100, 120; a list")
  endif()
  include(CheckLanguage)
  check_language(CUDA)
  if(CMAKE_CUDA_COMPILER)
    enable_language(CUDA)
    set(APPROX_CUDA_FOUND ON)
    set(CMAKE_CUDA_STANDARD 20)
    set(CMAKE_CUDA_STANDARD_REQUIRED ON)
    if(APPROX_CCACHE)
      set(CMAKE_CUDA_COMPILER_LAUNCHER ${CMAKE_CXX_COMPILER_LAUNCHER})
    endif()
  endif()
endif()

# The header of NCCL: that of the library which LibTorch's CUDA half brings along, else one of the
# system. Without it ranks with a GPU each are not built.
set(APPROX_NCCL_INCLUDE "")
if(APPROX_CUDA_FOUND)
  find_path(APPROX_NCCL_DIR nccl.h PATHS ${APPROX_TORCH_DIR}/../nvidia/nccl/include
            NO_DEFAULT_PATH DOC "The folder of nccl.h")
  find_path(APPROX_NCCL_DIR nccl.h)
  if(APPROX_NCCL_DIR)
    set(APPROX_NCCL_INCLUDE ${APPROX_NCCL_DIR})
  endif()
endif()

# The headers of CUPTI, by which a GPU tells what it did: those that LibTorch's CUDA half brings
# along, else those of the toolkit. Without them approxtrain_trace is not built.
set(APPROX_CUPTI_INCLUDE "")
if(APPROX_CUDA_FOUND)
  file(GLOB wheel_headers ${APPROX_TORCH_DIR}/../nvidia/cu*/include)
  find_path(APPROX_CUPTI_DIR cupti.h PATHS ${wheel_headers} NO_DEFAULT_PATH
            DOC "The folder of cupti.h")
  find_path(APPROX_CUPTI_DIR cupti.h HINTS ${CMAKE_CUDA_TOOLKIT_INCLUDE_DIRECTORIES}
            PATHS /usr/local/cuda/extras/CUPTI/include)
  if(APPROX_CUPTI_DIR)
    set(APPROX_CUPTI_INCLUDE ${APPROX_CUPTI_DIR} ${CMAKE_CUDA_TOOLKIT_INCLUDE_DIRECTORIES})
  endif()
endif()

# approx_cuda_kernels(NAME sources...): a library of kernels, opened while the program runs
# (kernels/library.h). What it takes from the project it finds in the library that opens it. CUDA's
# runtime is linked statically: the library loads where there is no driver, and computes with
# LibTorch's memory and streams where there is one, since both use the device's one context.
function(approx_cuda_kernels name)
  add_library(${name} MODULE ${ARGN})
  set_target_properties(${name} PROPERTIES CUDA_RUNTIME_LIBRARY Static UNITY_BUILD OFF)
  # Not the packages that approx_headers brings: their folder is /usr/include, and named as one of
  # system headers it hides the C library's from the compiler of CUDA.
  target_include_directories(${name} PRIVATE ${CMAKE_SOURCE_DIR})
  target_include_directories(${name} SYSTEM PRIVATE ${CMAKE_BINARY_DIR}/include)
  target_compile_options(${name} PRIVATE -Xcompiler=-Wall,-Wextra --expt-relaxed-constexpr)
  if(APPROX_WERROR)
    target_compile_options(${name} PRIVATE -Werror=all-warnings)
  endif()
endfunction()

# approx_cuda_module(NAME sources...): what is compiled against the CUDA half of LibTorch, likewise
# opened while the program runs, after that half: what it takes from there it finds then.
function(approx_cuda_module name)
  add_library(${name} MODULE ${ARGN})
  set_target_properties(${name} PROPERTIES UNITY_BUILD OFF)
  target_include_directories(${name} SYSTEM PRIVATE ${CMAKE_CUDA_TOOLKIT_INCLUDE_DIRECTORIES})
  target_link_libraries(${name} PRIVATE approx_headers approx_torch)
endfunction()
