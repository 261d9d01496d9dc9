// The kernel lab: single kernels of a GPU, each checked and then timed on its own. It needs no
// LibTorch, starts in under a second, and prints one JSON line a case. docs/internals/gpu.md says
// how to use it.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "kernels/bfloat16.h"

namespace approx::lab {

// Throws Error(kDevice) with the name of the call unless `result` is cudaSuccess.
void check(cudaError_t result, const char* call);

// How the bytes of a new buffer are filled.
enum class Fill {
  kPoison,    // 0xFF: a NaN in every floating-point format
  kNumbers,   // pseudo-random bf16 numbers in [-1, 1)
  kPositive,  // pseudo-random floats in [0.5, 1.5)
  kZero,      // all bits zero
};

// Device memory between two zones of 4 KiB that nobody may write to.
class Buffer {
 public:
  Buffer(size_t bytes, Fill fill, uint32_t seed = 1);
  ~Buffer();
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;

  template <typename T>
  T* as() const {
    return reinterpret_cast<T*>(data_);
  }
  size_t bytes() const { return bytes_; }
  void fill(Fill fill, uint32_t seed) const;
  void upload(const void* from) const;  // `bytes()` bytes
  // A copy on the host.
  template <typename T>
  std::vector<T> download() const {
    std::vector<T> copy(bytes_ / sizeof(T));
    download_to(copy.data());
    return copy;
  }
  // Whether both zones are as they were.
  bool zones_are_intact() const;

 private:
  void download_to(void* to) const;

  size_t bytes_;
  char* whole_ = nullptr;
  char* data_ = nullptr;
};

// One set of a case's arguments. `run` starts the kernel; `compare` waits, then gives the largest
// error of the outputs against a plain double-precision computation on the host, relative to the
// largest magnitude of an output (NaN if an output was not written). `compare` is null in sets that
// are only timed.
struct Instance {
  std::vector<std::unique_ptr<Buffer>> buffers;
  std::function<void(cudaStream_t)> run;
  std::function<double()> compare;

  // A new buffer of this set.
  Buffer& add(size_t bytes, Fill fill, uint32_t seed = 1);
};

// A matrix of numbers: rows are pixels, columns are channels.
struct Matrix {
  std::string name;
  int64_t rows = 0, channels = 0;
};

// One variant of one kernel on one size.
struct Case {
  std::string kernel, variant, size;
  double bytes = 0;      // read and written, each number once
  double tolerance = 0;  // of `compare`
  // Makes an instance on the case's size, or for `checked` on a small size of the same kind with
  // `compare`.
  std::function<Instance(bool checked, uint32_t seed)> make;
};

// The cases of each file.
void add_norms(std::vector<Case>& cases);
void add_selections(std::vector<Case>& cases);
void add_positions(std::vector<Case>& cases);

// The largest difference of two equally long lists, relative to the largest magnitude in
// `expected`; NaN if any number is no number.
double largest_difference(const std::vector<double>& found, const std::vector<double>& expected);

// The numbers as doubles.
std::vector<double> as_doubles(const std::vector<BFloat16>& numbers);
std::vector<double> as_doubles(const std::vector<float>& numbers);

}  // namespace approx::lab
