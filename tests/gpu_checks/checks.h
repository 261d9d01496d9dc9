// Holds what GPUs run to its definition, on a CPU.
#pragma once

#include <functional>
#include <string_view>
#include <vector>

#include "kernels/bfloat16.h"
#include "kernels/float16.h"
#include "tests/gpu_checks/emulator.h"
#include "tests/kernel_checks/checks.h"

namespace approx {

// Adds what `agreements` returns to what gpu_checks holds to its definition:
//   const GpuChecks kAdded{added_on_gpu};
// one file is enough to add a check.
struct GpuChecks {
  using Agreements = std::vector<Agreement> (*)();

  explicit GpuChecks(Agreements agreements) { all().push_back(agreements); }

  static std::vector<Agreements>& all() {
    static std::vector<Agreements> checks;
    return checks;
  }
};

// What rounding to such numbers may change of one, as a share of it.
template <typename Number>
constexpr double kRounding = 0;
template <>
inline constexpr double kRounding<BFloat16> = 1.0 / 256;
template <>
inline constexpr double kRounding<Float16> = 1.0 / 2048;

template <typename Number>
std::vector<float> rounded(std::vector<float> values) {
  for (auto& value : values) value = static_cast<float>(Number(value));
  return values;
}

// Several arrays of results one after the other.
template <typename... Arrays>
std::vector<float> joined(const Arrays&... arrays) {
  std::vector<float> all;
  (
      [&] {
        for (const auto value : arrays.values()) all.push_back(static_cast<float>(value));
      }(),
      ...);
  return all;
}

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

// What is wrong with a product that `run` writes to fresh memory, as in_all_orders says, or by how
// much it is not `truth`.
template <typename Number>
std::string product_agrees(const std::vector<double>& truth,
                           const std::function<std::string(Order, Number* out)>& run) {
  std::vector<float> got;
  std::string wrong = in_all_orders<std::vector<float>>(
      [&](Order order, std::vector<float>& results) {
        GpuArray<Number> out(static_cast<int64_t>(truth.size()));
        std::string failed = run(order, out.data());
        if (!out.intact()) failed = "it wrote outside its result";
        results = joined(out);
        return failed;
      },
      got);
  return wrong.empty() ? difference(got.data(), truth, kRounding<Number>) : wrong;
}

}  // namespace approx
