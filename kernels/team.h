// The threads that share the work of a kernel, for loops without LibTorch.
#pragma once

#include <cstdint>
#include <functional>

namespace approx {

class Team {
 public:
  virtual ~Team() = default;

  // Calls `work` once for each item in [0, items), on any thread and in any order, and returns when
  // all are done. Results do not depend on the number of threads if each item's result does not
  // depend on other items.
  virtual void share(int64_t items, const std::function<void(int64_t item)>& work) const = 0;
};

}  // namespace approx
