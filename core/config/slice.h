// Selections of layers, steps or ranks by number.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace approx {

// `start:stop:step` as in Python: stop is exclusive, and each part may be left out. A single number
// n is n:n+1. Layers count from 1, steps (training batches) from 0.
struct Slice {
  int64_t start = 0;
  int64_t stop = -1;  // -1: open
  int64_t step = 1;

  bool contains(int64_t at) const {
    return at >= start && (stop < 0 || at < stop) && (at - start) % step == 0;
  }
  bool operator==(const Slice&) const = default;
};

// `default_start` is the value of a missing start. Throws Error(kUsage).
Slice parse_slice(std::string_view text, int64_t default_start);

// Reads the `steps` of a rule. Throws Error(kUsage) that begins with `steps = "..."`.
Slice parse_steps(std::string_view text);

// Reads the `ranks` of a rule, counted from 0; empty: all. Throws Error(kUsage) that begins with
// `ranks = "..."`.
Slice parse_ranks(std::string_view text);

// Reads the `epochs` of a rule, counted from 0; empty: all. Throws Error(kUsage) that begins with
// `epochs = "..."`.
Slice parse_epochs(std::string_view text);

// One spelling for all slices of one meaning.
std::string to_text(const Slice& slice);

}  // namespace approx
