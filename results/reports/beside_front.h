// Other ways to save time than methods, for a picture of speedup against loss.
#pragma once

#include <string>
#include <vector>

#include "results/rows/rows.h"

namespace approx {

struct BesideFront {
  std::string label;         // "exact, 5.19 of 6 epochs"; "ResNet-14, exact"
  const Row* row = nullptr;  // of its trainings; null where they are the curves of longer ones
  Ratio speedup;             // over the whole exact training
  PairedDifference loss;     // against it, points
  Notes notes = {};          // of a network of its own
};

// The exact trainings that take as long as the methods of `rows` (same_time in
// results/rows/same_time.h), each once, the longest first. Their speedup is the number of epochs of
// the whole training over their own. None for methods that are not surely faster.
std::vector<BesideFront> shorter_exact(const RowSet& set, const std::vector<const Row*>& rows);

// Exact trainings of other networks that share seeds with `dense`, its data and its setting. Their
// steps were timed against those of `dense`.
std::vector<BesideFront> smaller_networks(const RowSet& set, const Row& dense);

}  // namespace approx
