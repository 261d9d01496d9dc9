// The counts that a run makes of its layers.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "core/config/rule.h"

namespace approx {

// The work of one product of a layer under one method.
struct LayerCount {
  std::string layer;
  Product product = Product::kForward;
  std::string method;
  int64_t calls = 0, exact_calls = 0, macs_dense = 0, macs_done = 0;
  std::optional<double> density;
};

// How often one variant computed a product of a layer.
struct VariantCount {
  std::string layer;
  Product product = Product::kForward;
  std::string plan, variant;
  int64_t calls = 0;
};

// The traffic that one of the ranks sent for a layer; layer "" stands for the data sent along with
// the gradients.
struct TrafficCount {
  std::string layer;
  int64_t calls = 0, bytes = 0, bytes_dense = 0;
};

}  // namespace approx
