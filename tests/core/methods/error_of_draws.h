// How far the draws of a method lie from the exact product.
#pragma once

#include <ATen/ATen.h>

#include <cstdint>
#include <string>

#include "core/methods/method.h"
#include "kernels/kernel.h"
#include "tests/reference.h"

namespace approx {

// The squares of distances from the exact product.
struct DrawError {
  double of_a_draw = 0;  // the mean over the draws
  double of_the_mean = 0;
};

// The first `draws` steps of the method `text` under a seed.
inline DrawError error_of_draws(const Operands& o, const std::string& text, int64_t draws,
                                uint64_t seed) {
  const auto exact = reference::product(o).tensor();
  const auto method = make_method(text);
  auto sum = at::zeros_like(exact);
  double square = 0;
  for (int64_t step = 0; step < draws; ++step) {
    const Rng rng{.seed = seed, .step = static_cast<uint64_t>(step), .product = o.product};
    const auto got = run(method->plan(o, {.rng = rng}), o).to(at::kDouble);
    sum += got;
    square += (got - exact).square().sum().item<double>();
  }
  const auto count = static_cast<double>(draws);
  return {.of_a_draw = square / count,
          .of_the_mean = (sum / count - exact).square().sum().item<double>()};
}

}  // namespace approx
