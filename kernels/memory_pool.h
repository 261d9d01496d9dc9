// Memory that the items of a parallel loop reuse.
#pragma once

#include <mutex>
#include <utility>
#include <vector>

namespace approx {

// Gives the memory of finished work to later work, on any thread. New memory each time would cost
// one page fault per page.
template <typename Memory>
class MemoryPool {
 public:
  // Memory that was given back, or else the result of `make`.
  template <typename Make>
  Memory take(const Make& make) {
    {
      const std::lock_guard lock(mutex_);
      if (!free_.empty()) {
        Memory memory = std::move(free_.back());
        free_.pop_back();
        return memory;
      }
    }
    return make();
  }
  void give_back(Memory memory) {
    const std::lock_guard lock(mutex_);
    free_.push_back(std::move(memory));
  }

 private:
  std::mutex mutex_;
  std::vector<Memory> free_;
};

}  // namespace approx
