// Compares two stores: equal rows and changes from one to the other.
#pragma once

#include <vector>

#include "base/enum_text.h"
#include "results/records/snapshot.h"
#include "results/render/table.h"
#include "results/rows/options.h"

namespace approx {

// The change from A to B, as far as the runs can tell: of speed, of accuracy, or between two
// numbers that should be equal.
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

// The changes that a gate may refuse.
inline constexpr Change kLosses[] = {Change::kSlower, Change::kInferior, Change::kDiffers};

// Compares the rows that two stores share, B against A. Accuracy is compared by Welch's interval of
// the difference, from kSeedsForAVerdict seeds of each on, and by which seeds diverged. Step times
// or kernel times are compared too. `losses` gets the change of each row that is one of kLosses. A
// change that the runs cannot decide is undecided; stores without a common row give no rows. Throws
// as a report does.
Table report_compare(const Snapshot& a, const Snapshot& b, const ReportOptions& options,
                     std::vector<Change>* losses = nullptr);

}  // namespace approx
