// What is the same in two stores, and what changed from one to the other.
#pragma once

#include <vector>

#include "base/enum_text.h"
#include "results/records/snapshot.h"
#include "results/render/table.h"
#include "results/rows/options.h"

namespace approx {

// How B is against A, as far as the runs can tell: its speed, its accuracy, or two numbers that
// should be equal.
enum class Change { kSame, kFaster, kSlower, kBetter, kInferior, kDiffers, kUndecided };

constexpr auto enum_texts(Change) {
  return std::to_array<EnumText<Change>>({{Change::kSame, "same"},
                                          {Change::kFaster, "faster"},
                                          {Change::kSlower, "slower"},
                                          {Change::kBetter, "better"},
                                          {Change::kInferior, "inferior"},
                                          {Change::kDiffers, "differs"},
                                          {Change::kUndecided, "undecided"}});
}

// Those that a gate may refuse.
inline constexpr Change kLosses[] = {Change::kSlower, Change::kInferior, Change::kDiffers};

// What is the same in two stores, B against A: accuracy (Welch's interval of the difference, from
// kSeedsForAVerdict of each on; which seeds diverged) and step time or kernel time. `losses` gets
// the change of each row that is one of kLosses. What the runs cannot tell is undecided; stores
// with no row in common give none. Throws as a report does.
Table report_compare(const Snapshot& a, const Snapshot& b, const ReportOptions& options,
                     std::vector<Change>* losses = nullptr);

}  // namespace approx
