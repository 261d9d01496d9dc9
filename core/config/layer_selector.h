// The `layers` of a rule: which layers of a network it selects.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/config/catalogue.h"
#include "core/config/slice.h"

namespace approx {

// One term: a slice or number over the convolutions, `kind=GLOB`, `name=GLOB` or `block=GLOB`. A
// kind does not select the first convolution. A block stands for the layers of its residual branch.
struct LayerTerm {
  enum class What { kSlice, kKind, kName, kBlock };
  What what = What::kSlice;
  Slice slice;
  std::string glob;

  bool matches(const LayerInfo& layer) const;
  std::string to_string() const;  // one spelling for all terms of one meaning
};

// Reads terms joined by `,` or `+`. A slice without a start begins at the second convolution.
// Throws Error(kUsage) that begins with `layers = "..."`.
std::vector<LayerTerm> parse_layers(std::string_view text);

// One spelling for all texts that select the same layers in every network: "6,4,2", "2,4,6,4" and
// "2:7:2" are one. The other terms follow the numbers, in alphabetical order. A text of one term is
// spelt as its to_string() says; only its stop may change, to just above the last number. Throws as
// parse_layers.
std::string canonical_layers(std::string_view text);

// For each layer, whether a term selects it. Throws Error(kUsage) for a term that selects none; the
// message lists the layers that there are.
std::vector<bool> select_layers(std::string_view text, const std::vector<LayerInfo>& layers);

}  // namespace approx
