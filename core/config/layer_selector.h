// The `layers` of a rule: which layers of a network it is about.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/config/catalogue.h"
#include "core/config/slice.h"

namespace approx {

// One term: a slice or number over the convolutions, `kind=GLOB` or `name=GLOB`. A kind passes the
// first convolution over.
struct LayerTerm {
  enum class What { kSlice, kKind, kName };
  What what = What::kSlice;
  Slice slice;
  std::string glob;

  bool matches(const LayerInfo& layer) const;
  std::string to_string() const;  // the one spelling of everything that means the same
};

// Terms joined by `,` or `+`. A slice without a start begins at the second convolution.
// Error(kUsage) begins with `layers = "..."`.
std::vector<LayerTerm> parse_layers(std::string_view text);

// For each layer whether a term matches it. Throws Error(kUsage) for a term that matches none,
// saying what there is.
std::vector<bool> select_layers(std::string_view text, const std::vector<LayerInfo>& layers);

}  // namespace approx
