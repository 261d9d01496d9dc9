// Exact trainings that are shorter than the recipe. A faster method must beat them.
#pragma once

#include <cstdint>
#include <string_view>

#include "core/config/run_config.h"

namespace approx {

// Prefix of the method label of a dense control that trains only as long as another row takes. The
// label of that row follows.
inline constexpr std::string_view kIsoTimePrefix = "dense in the time of ";

// Prefix of the method label of an exact training that `exact_lengths` adds. Its length follows:
// "dense for 4.2 epochs" (core/experiment/exact_lengths.h).
inline constexpr std::string_view kLengthPrefix = "dense for ";

// Whether a method label is that of an exact training that serves as a control. Reports do not
// count it as a method.
constexpr bool is_exact_control(std::string_view method_label) {
  return method_label.starts_with(kIsoTimePrefix) || method_label.starts_with(kLengthPrefix);
}

// Whether a training of fewer epochs equals the beginning of a longer one. Its result can then be
// read from the longer one, without a control. This holds if no setting of the recipe depends on
// the number of epochs.
bool is_prefix_of_longer(const Recipe& recipe);

// The recipe at a share of its length, above 0 and at most 1. The length is rounded up to whole
// hundredths of an epoch, and to no fewer steps than that share of the recipe's own steps. A
// partial epoch is the last one. `steps_per_epoch`: 0 if it is not known; a partial last step is
// then left out.
Recipe shortened(const Recipe& recipe, double share, int64_t steps_per_epoch);

// The recipe at the length of another one. Settings in epochs, and the decay of its learning rate
// per epoch, are scaled along. The learning rate so goes through the same course in less time.
Recipe shortened_like(const Recipe& recipe, const Recipe& length);

}  // namespace approx
