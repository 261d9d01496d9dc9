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

// The one spelling of every text that selects the same layers of any network: "6,4,2", "2,4,6,4"
// and "2:7:2" are one. Terms by kind and name stand behind the numbers, in alphabetical order. A
// text of one term is what its to_string() says, but for a stop that is just above the last number.
// Throws as parse_layers.
std::string canonical_layers(std::string_view text);

// For each layer whether a term matches it. Throws Error(kUsage) for a term that matches none,
// saying what there is.
std::vector<bool> select_layers(std::string_view text, const std::vector<LayerInfo>& layers);

}  // namespace approx
