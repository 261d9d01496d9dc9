// A method as the operators know it: by its text, without memory, with what a trace may ask of it.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/methods/method.h"
#include "core/nn/slot.h"
#include "kernels/plan.h"

namespace approx {

struct KnownMethod {
  std::string text;
  LayerSlot slot;                  // exact for dense; without a seed
  std::shared_ptr<Method> method;  // null: dense
  std::vector<Product> products;   // that it plans

  // Whether the weight gradient does not exist (`zero:freeze=true`).
  bool freezes_weight = false;
  // Whether both gradients go by the sample of the forward product.
  bool samples_once = false;
  // Whether the size of that sample follows from shapes alone. A trace can keep such a sample.
  bool has_fixed_sample = false;
  // Whether the gradients have gradients of their own; docs/python.md lists the methods.
  bool has_second_derivative = false;
  // Whether its products go by one sample, so that they are approximated together or not at all.
  bool draws_one_sample = false;
  // Layers with fewer input channels stay exact, where a network applies the method.
  int64_t least_channels = 0;

  bool is_dense() const { return method == nullptr; }

  // Whether a backward pass without a sample must plan the forward product again, from x.
  bool plans_again() const;

  // The size and kind of the sample that the forward product of such a layer takes. Its values mean
  // nothing. Nothing where it takes no sample. Only under `has_fixed_sample`.
  std::optional<Sampled> shape_of_sample(int64_t input_channels, int64_t groups) const;
};

// A product's place in numbers that hold products as bits.
constexpr int64_t bit(Product product) { return int64_t{1} << static_cast<int>(product); }

using Known = std::shared_ptr<const KnownMethod>;

// Returns the method of `name:key=value,...`; calls with equal texts share it, in any thread.
// Throws ValueError for a text that names no method, for parameters that it does not have, and for
// a method with a memory.
Known find_method(std::string_view text);

// Returns the method as it is where it plans these products alone, given as bits.
Known restricted(const Known& known, int64_t products);

}  // namespace approx
