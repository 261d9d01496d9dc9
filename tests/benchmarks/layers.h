// The products of single layers on random operands, for the benchmarks of kernels.
#pragma once

#include <ATen/ops/randn.h>

#include <chrono>
#include <string>

#include "kernels/kernel.h"
#include "tests/benchmarks/benchmarks.h"

namespace approx {

struct LayerShape {
  int64_t n, ci, size, co, kernel, stride, padding;
};

inline Operands layer_operands(const LayerShape& s, Product product, at::MemoryFormat format) {
  const auto draw = [&](at::IntArrayRef sizes) { return at::randn(sizes).contiguous(format); };
  const int64_t out = output_size(s.size, s.kernel, s.stride, s.padding);
  Operands o{.x = draw({s.n, s.ci, s.size, s.size}),
             .w = draw({s.co, s.ci, s.kernel, s.kernel}),
             .dy = draw({s.n, s.co, out, out}),
             .geometry = {.stride = s.stride, .padding = s.padding},
             .product = product};
  o.input_sizes = o.x.sizes().vec();
  return o;
}

// What one call takes; of the variant that is chosen if the name is empty.
inline double milliseconds(const Plan& plan, const Operands& o, const std::string& variant) {
  const auto before = std::chrono::steady_clock::now();
  const auto result = run(plan, o, variant);
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - before)
      .count();
}

}  // namespace approx
