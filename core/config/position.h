// Points in a training at which rules begin and end.
#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <string_view>

namespace approx {

// The step of a point that is not known in advance.
inline constexpr int64_t kUnknownStep = std::numeric_limits<int64_t>::max();

// A point in a training: `300ba` (batches), `10ep` (epochs), `0.25dur` (share of the whole) or a
// plateau such as `plateau:patience=5,delta=0.001`. A plateau is reached at the fifth evaluation in
// a row whose held-out accuracy is not more than 0.001 above the best before (Wang et al. 2019,
// section 4: approximate first, exact after).
struct Position {
  enum class Unit { kBatches, kEpochs, kDuration, kPlateau };
  double value = 0;
  Unit unit = Unit::kBatches;
  int64_t patience = 5;  // of a plateau
  double delta = 0.001;  // of a plateau

  // The step, or kUnknownStep for a plateau.
  int64_t step(int64_t steps_per_epoch, int64_t total_steps) const;
  bool operator==(const Position&) const = default;
};

Position parse_position(std::string_view text);  // throws Error(kUsage)

// One spelling for all positions of one meaning.
std::string to_text(const Position& position);

// The spelling in which a plateau's delta of -0 still differs from 0, as in older keys. Throws
// Error(kUsage).
std::string position_with_signs(std::string_view text);

}  // namespace approx
