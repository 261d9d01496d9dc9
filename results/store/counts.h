// What a run counts of its layers.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "core/config/rule.h"

namespace approx {

// What one product of a layer did under one method.
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

// What one of the ranks sent of a layer; "" is what goes along with the gradients.
struct TrafficCount {
  std::string layer;
  int64_t calls = 0, bytes = 0, bytes_dense = 0;
};

}  // namespace approx
