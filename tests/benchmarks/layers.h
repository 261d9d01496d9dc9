// The products of single layers on random operands, for the benchmarks of kernels.
#pragma once

#include <ATen/ops/randn.h>
#include <fmt/format.h>

#include <chrono>
#include <cstdio>
#include <string>
#include <vector>

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

template <typename Work>
double milliseconds_of(const Work& work) {
  const auto before = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - before)
      .count();
}

// What one call takes; of the variant that is chosen if the name is empty.
inline double milliseconds(const Plan& plan, const Operands& o, const std::string& variant) {
  at::Tensor result;  // let go when the time has been taken
  return milliseconds_of([&] { result = run(plan, o, variant); });
}

// The first cells of a layer's row.
inline void print_layer(const LayerShape& s, Product product) {
  fmt::print("| {},{},{},{},{}x{}/{} | {} |", s.n, s.ci, s.size, s.co, s.kernel, s.kernel, s.stride,
             name(product));
}

// Calls `compare` with every shape for each product, or for the one that the arguments name:
// [THREADS [PRODUCT]].
template <typename Products, typename Compare>
void compare_layers(const CommandLine& arguments, const Products& products,
                    const std::vector<LayerShape>& shapes, const Compare& compare) {
  for (const auto product : products) {
    if (arguments.size() > 1 && name(product) != arguments[1]) continue;
    for (const auto& shape : shapes) {
      compare(shape, product);
      std::fflush(stdout);
    }
  }
}

}  // namespace approx
