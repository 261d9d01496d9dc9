// Runs kernels of a GPU (kernels/gpu/kernel.h) on a CPU, block after block and thread after thread,
// each thread until it waits for others. Blocks run from the first on, from the last on, or in an
// order drawn anew for each launch. What a GPU would do at random is done on purpose: memory
// that nobody has written holds NaN, shared memory too at the start of every block, the threads run
// in several orders, and between zones that nobody may touch.
#pragma once

#include <cstring>
#include <functional>
#include <memory>
#include <string>
#include <type_traits>
#include <vector>

#include "kernels/bfloat16.h"
#include "kernels/gpu/kernel.h"
#include "tests/gpu_checks/warp_products.h"

namespace approx {

// The first warp runs ahead of the others, or the last, or all go on side by side in an order drawn
// anew between any two places where they wait. Copies that a thread may wait for are late in the
// first, at once in the second, by thread in the third.
enum class Order { kForwards, kBackwards, kShuffled };
constexpr Order kOrders[] = {Order::kForwards, Order::kBackwards, Order::kShuffled};

class EmulatedBlock;

// What a kernel sees as its thread.
class CpuThread {
 public:
  int64_t block_x() const { return block_x_; }
  int64_t block_y() const { return block_y_; }
  int64_t blocks() const { return blocks_; }
  int index() const { return index_; }
  int threads() const { return threads_; }

  template <typename T>
  T* shared(size_t offset = 0) {
    return reinterpret_cast<T*>(shared_ + offset);
  }

  void barrier() { any(false); }
  bool any(bool mine);

  template <typename T>
  T shuffle_down(T value, int lanes) {
    const int lane = index_ % kWarp;
    return shuffle(value, lane + lanes < kWarp ? lane + lanes : lane);
  }
  template <typename T>
  T shuffle(T value, int lane) {
    static_assert(std::is_trivially_copyable_v<T> && sizeof(T) <= sizeof(uint64_t));
    uint64_t word = 0;
    std::memcpy(&word, &value, sizeof value);
    word = exchange(word, lane);
    std::memcpy(&value, &word, sizeof value);
    return value;
  }
  uint32_t ballot(bool mine);

  void add(int64_t* sum, int64_t value) { *sum += value; }
  void add(int32_t* count, int32_t value);
  bool last_to_come(uint32_t* arrivals, uint32_t blocks);

  // Copied at once, or when somebody waits for it and not before: a GPU may do either.
  template <int kBytes>
  void copy(void* to, const void* from) {
    static_assert(kBytes == 8 || kBytes == 16);
    if (!aligned(kBytes, to) || !aligned(kBytes, from)) return complain("a copy is not aligned");
    if (copies_at_once_) {
      std::memcpy(to, from, kBytes);
    } else {
      copies_.back().push_back({to, from, kBytes});
    }
  }
  void close_copies() { copies_.emplace_back(); }
  template <size_t kOpen>
  void wait_copies() {
    while (copies_.size() > kOpen + 1) {
      for (const Copy& copy : copies_.front()) std::memcpy(copy.to, copy.from, copy.bytes);
      copies_.erase(copies_.begin());
    }
  }

  template <bool kTransposed>
  Registers load_matrices(const void* row) {
    if (!aligned(16, row)) complain("a row of a matrix is not aligned");
    MatrixRow mine{static_cast<const uint16_t*>(row), kTransposed, {}};
    together(&mine, load_matrices_of_warp);
    return mine.loaded;
  }
  template <typename Number>
  void multiply(const Registers& a, uint32_t b_first, uint32_t b_second, Floats<4>& sum) {
    DenseFactors mine{a, {b_first, b_second}, std::is_same_v<Number, BFloat16>, sum};
    together(&mine, multiply_of_warp);
    sum = mine.sum;
  }
  template <typename Number, int kSelector>
  void multiply_sparse(const Registers& a, const Registers& b, uint32_t indices, Floats<4>& sum) {
    SparseFactors mine{a, b, indices, kSelector, std::is_same_v<Number, BFloat16>, sum};
    together(&mine, multiply_sparse_of_warp);
    sum = mine.sum;
  }

 private:
  friend class EmulatedBlock;
  struct Copy {
    void* to;
    const void* from;
    size_t bytes;
  };

  static bool aligned(size_t bytes, const void* at) {
    return reinterpret_cast<uintptr_t>(at) % bytes == 0;
  }
  void complain(const char* what);
  uint64_t exchange(uint64_t word, int lane);
  // Has the work of all lanes done once all are there, each with `mine`.
  void together(void* mine, WarpWork work);

  EmulatedBlock* block_ = nullptr;
  unsigned char* shared_ = nullptr;
  int64_t block_x_ = 0, block_y_ = 0, blocks_ = 1;
  int index_ = 0, threads_ = 0;
  bool copies_at_once_ = false;
  std::vector<std::vector<Copy>> copies_;  // groups that nobody has waited for, the last still open
};

// Runs what a kernel's threads do over its grid. Returns what is wrong, or nothing: threads of
// which some wait where others never come, shared memory written outside, a grid that no GPU takes.
std::string run_grid(const Grid& grid, int most_threads, Order order,
                     const std::function<void(CpuThread&)>& body);

template <typename Kernel>
std::string emulate(const Kernel& kernel, Order order) {
  return run_grid(kernel.grid(), Kernel::kMostThreads, order,
                  [&](CpuThread& thread) { kernel(thread); });
}

// A GPU's memory: NaN until it is written, between zones that must stay so. It begins so many
// numbers behind an address that sixteen bytes divide.
template <typename T>
class GpuArray {
 public:
  explicit GpuArray(int64_t count, int64_t behind = 0)
      : behind_(behind), all_(static_cast<size_t>(count + behind + 2 * kZone)) {
    std::memset(static_cast<void*>(all_.data()), kUnwritten, all_.size() * sizeof(T));
  }
  explicit GpuArray(const std::vector<T>& values, int64_t behind = 0)
      : GpuArray(static_cast<int64_t>(values.size()), behind) {
    if (!values.empty()) std::memcpy(data(), values.data(), values.size() * sizeof(T));
  }

  T* data() { return all_.data() + kZone + behind_; }
  const T* data() const { return all_.data() + kZone + behind_; }
  int64_t size() const { return static_cast<int64_t>(all_.size()) - behind_ - 2 * kZone; }
  std::vector<T> values() const { return {all_.begin() + kZone + behind_, all_.end() - kZone}; }

  bool intact() const { return untouched(data() - kZone) && untouched(data() + size()); }

 private:
  static constexpr int64_t kZone = 64;  // so that the array lies as a GPU's memory does
  static constexpr int kUnwritten = 0xFF;

  static bool untouched(const T* zone) {
    const auto* bytes = reinterpret_cast<const unsigned char*>(zone);
    for (size_t i = 0; i < kZone * sizeof(T); ++i) {
      if (bytes[i] != kUnwritten) return false;
    }
    return true;
  }

  int64_t behind_;
  std::vector<T> all_;
};

}  // namespace approx
