// The threads that share the work of a kernel, as loops without LibTorch see them.
#pragma once

#include <cstdint>
#include <functional>

namespace approx {

class Team {
 public:
  virtual ~Team() = default;

  // Calls `work` once for each item in [0, items), on any thread and in any order, and returns when
  // all have been done. Results do not depend on the number of threads as long as what an item
  // computes does not depend on other items.
  virtual void share(int64_t items, const std::function<void(int64_t item)>& work) const = 0;
};

}  // namespace approx
