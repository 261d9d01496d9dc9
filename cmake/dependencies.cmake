# What the project links. LibTorch is the wheel of a Python environment; everything else is a Debian
# or Ubuntu package. See scripts/setup for the lists.

find_package(PkgConfig REQUIRED)
find_package(Threads REQUIRED)
find_package(nlohmann_json REQUIRED)
pkg_check_modules(hwy REQUIRED IMPORTED_TARGET libhwy)

# LibTorch, by targets of our own: the wheel's CMake files stop where there is no CUDA toolkit, and
# the CUDA half of LibTorch is opened at run time only when a run asks for it
# (core/train/device.cpp).
if(SKBUILD)  # a wheel is built by the Python that asks for it, with the PyTorch that it has
  set(APPROX_PYTHON ${Python_EXECUTABLE})
endif()
if(NOT APPROX_TORCH_DIR)
  find_program(APPROX_PYTHON NAMES python3 python
               HINTS ${CMAKE_SOURCE_DIR}/.venv/bin NO_DEFAULT_PATH)
  find_program(APPROX_PYTHON NAMES python3 python)
  execute_process(
    COMMAND ${APPROX_PYTHON} -c "import torch, os; print(os.path.dirname(torch.__file__))"
    OUTPUT_VARIABLE torch_dir OUTPUT_STRIP_TRAILING_WHITESPACE RESULT_VARIABLE torch_missing)
  if(torch_missing)
    message(FATAL_ERROR "PyTorch is not installed for ${APPROX_PYTHON}; run scripts/build, or set "
                        "APPROX_TORCH_DIR to the torch folder of a wheel")
  endif()
  set(APPROX_TORCH_DIR ${torch_dir} CACHE PATH "The torch folder of a PyTorch wheel")
endif()
# Shared by every module: the headers of the project itself and what the vocabulary is made of. fmt
# is the one in LibTorch's include folder, for every file: two versions do not link together.
# Torch-free files see a folder with nothing else in it. Its functions are compiled in
# base/fmt.cpp.
file(MAKE_DIRECTORY ${CMAKE_BINARY_DIR}/include)
file(CREATE_LINK ${APPROX_TORCH_DIR}/include/fmt ${CMAKE_BINARY_DIR}/include/fmt SYMBOLIC)
add_library(approx_headers INTERFACE)
target_include_directories(approx_headers INTERFACE ${CMAKE_SOURCE_DIR})
target_include_directories(approx_headers SYSTEM INTERFACE ${CMAKE_BINARY_DIR}/include)
target_link_libraries(approx_headers INTERFACE nlohmann_json::nlohmann_json Threads::Threads)

add_library(approx_torch INTERFACE)
target_include_directories(approx_torch SYSTEM INTERFACE
  ${APPROX_TORCH_DIR}/include ${APPROX_TORCH_DIR}/include/torch/csrc/api/include)
target_link_libraries(approx_torch INTERFACE
  ${APPROX_TORCH_DIR}/lib/libtorch_cpu.so ${APPROX_TORCH_DIR}/lib/libc10.so)
# The wheel is a release build. Without NDEBUG its headers add fields to its classes, of which the
# library knows nothing.
if(NOT CMAKE_BUILD_TYPE STREQUAL "Release")
  target_compile_definitions(approx_torch INTERFACE NDEBUG)
endif()
# By its file: -fopenmp on the link line would name the compiler's own.
file(GLOB APPROX_OPENMP_RUNTIME ${APPROX_TORCH_DIR}/lib/libgomp*.so*)
if(NOT APPROX_OPENMP_RUNTIME)
  message(FATAL_ERROR "${APPROX_TORCH_DIR}/lib: LibTorch's OpenMP runtime, libgomp, is missing")
endif()
# at::parallel_for is a template around an OpenMP pragma: a file compiled without OpenMP runs its
# loops on one thread and says nothing. The runtime is the one that LibTorch brings, never a second.
target_compile_options(approx_torch INTERFACE -fopenmp)
target_link_libraries(approx_torch INTERFACE ${APPROX_OPENMP_RUNTIME})
# From the start as it is installed. What CMake sets anew on installing it pads with empty places
# before, and an empty place is the working directory, whose files may be anybody's.
set(CMAKE_BUILD_WITH_INSTALL_RPATH ON)
set(CMAKE_INSTALL_RPATH_USE_LINK_PATH ON)
set(CMAKE_INSTALL_RPATH "$ORIGIN;$ORIGIN/../lib;${APPROX_TORCH_DIR}/lib")
if(APPROX_OPERATORS_ONLY)
  # Beside the package `approxtrain` lies the package `torch`, wherever both are installed.
  set(CMAKE_INSTALL_RPATH_USE_LINK_PATH OFF)
  set(CMAKE_INSTALL_RPATH "$ORIGIN;$ORIGIN/../torch/lib")
  return()
endif()

find_package(OpenSSL REQUIRED)
find_package(CLI11 REQUIRED)
pkg_check_modules(tomlplusplus REQUIRED IMPORTED_TARGET tomlplusplus)
pkg_check_modules(libarchive REQUIRED IMPORTED_TARGET libarchive)
pkg_check_modules(turbojpeg REQUIRED IMPORTED_TARGET libturbojpeg)
pkg_check_modules(libpng REQUIRED IMPORTED_TARGET libpng)
pkg_check_modules(zlib REQUIRED IMPORTED_TARGET zlib)
pkg_check_modules(libcurl REQUIRED IMPORTED_TARGET libcurl)

# SQLite and its wrapper are linked statically where the system has archives of them, so that a
# program built on one machine runs on another that has only LibTorch.
find_library(APPROX_SQLITECPP NAMES libSQLiteCpp.a SQLiteCpp REQUIRED)
find_library(APPROX_SQLITE NAMES libsqlite3.a sqlite3 REQUIRED)
add_library(approx_store_dependencies INTERFACE)
target_link_libraries(approx_store_dependencies INTERFACE
  ${APPROX_SQLITECPP} ${APPROX_SQLITE} m ${CMAKE_DL_LIBS} Threads::Threads)

add_library(approx_data_dependencies INTERFACE)
target_link_libraries(approx_data_dependencies INTERFACE
  PkgConfig::libarchive PkgConfig::turbojpeg PkgConfig::libpng PkgConfig::zlib PkgConfig::libcurl)

find_package(benchmark REQUIRED)
add_library(approx_cli_dependencies INTERFACE)
target_link_libraries(approx_cli_dependencies INTERFACE
  CLI11::CLI11 benchmark::benchmark ${CMAKE_DL_LIBS})

# For `approxtrain serve`; everything else does without.
pkg_check_modules(httplib IMPORTED_TARGET cpp-httplib)
set(APPROX_HTTPLIB ${httplib_FOUND})

# For trainings by several processes; everything else does without.
find_package(MPI COMPONENTS CXX)

if(APPROX_TESTS)
  find_package(GTest REQUIRED)
endif()
