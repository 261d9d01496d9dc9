// Memory that the items of a parallel loop hand on.
#pragma once

#include <mutex>
#include <utility>
#include <vector>

namespace approx {

// Gives the memory of work that has ended to later work, on any thread: new memory each time would
// cost as many page faults as it has pages.
template <typename Memory>
class MemoryPool {
 public:
  // Memory that was given back, otherwise what `make` returns.
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
