// Selections by number: which layers, which steps, which ranks.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace approx {

// `start:stop:step` as in Python: stop is exclusive, each part may be left out; a single number n
// is n:n+1. Layers count from 1, steps (training batches) from 0.
struct Slice {
  int64_t start = 0;
  int64_t stop = -1;  // -1: open
  int64_t step = 1;

  bool contains(int64_t at) const {
    return at >= start && (stop < 0 || at < stop) && (at - start) % step == 0;
  }
  bool operator==(const Slice&) const = default;
};

// `default_start` is what a missing start means. Throws Error(kUsage).
Slice parse_slice(std::string_view text, int64_t default_start);

// The `steps` of a rule: Error(kUsage) begins with `steps = "..."`.
Slice parse_steps(std::string_view text);

// The `ranks` of a rule, counted from 0; empty: all. Error(kUsage) begins with `ranks = "..."`.
Slice parse_ranks(std::string_view text);

// The one spelling of everything that means the same.
std::string to_text(const Slice& slice);

}  // namespace approx
