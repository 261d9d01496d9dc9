// Holds what GPUs run to its definition, on a CPU.
#pragma once

#include <functional>
#include <string_view>

#include "tests/gpu_checks/emulator.h"
#include "tests/kernel_checks/checks.h"

namespace approx {

std::vector<Agreement> peak_on_gpu();
std::vector<Agreement> pruning_on_gpu();
std::vector<Agreement> entries_on_gpu();
std::vector<Agreement> norm_on_gpu();
std::vector<Agreement> channels_on_gpu();

// Whether two arrays are the same bit for bit: a NaN is equal to itself.
template <typename Values>
bool same_bits(const Values& a, const Values& b) {
  const auto bytes = [](const Values& values) {
    return std::string_view(reinterpret_cast<const char*>(values.data()),
                            values.size() * sizeof(values[0]));
  };
  return bytes(a) == bytes(b);
}

// What is wrong with what `run` does in some order, or that the order of the threads shows in its
// results, or nothing. `run` has fresh memory for them each time; `results` are those of the first
// order.
template <typename Values>
std::string in_all_orders(const std::function<std::string(Order, Values& results)>& run,
                          Values& results) {
  bool first = true;
  for (const Order order : kOrders) {
    Values now;
    std::string wrong = run(order, now);
    if (!wrong.empty()) return wrong;
    if (first) results = now;
    if (!same_bits(now, results)) {
      return "the order of its threads shows in its result";
    }
    first = false;
  }
  return {};
}

}  // namespace approx
