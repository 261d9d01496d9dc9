// Exact trainings that are shorter than the recipe: what a faster method must beat.
#pragma once

#include <cstdint>
#include <string_view>

#include "core/config/run_config.h"

namespace approx {

// What the method label of a dense control begins with, which is trained only for the time that
// the row named behind it takes.
inline constexpr std::string_view kIsoTimePrefix = "dense in the time of ";

// What the method label of an exact training begins with that an experiment's `exact_lengths` adds;
// its length follows: "dense for 4.2 epochs" (core/experiment/exact_lengths.h).
inline constexpr std::string_view kLengthPrefix = "dense for ";

// Whether a method label is that of an exact training made to hold methods against, which is no
// method of its own in a report.
constexpr bool is_exact_control(std::string_view method_label) {
  return method_label.starts_with(kIsoTimePrefix) || method_label.starts_with(kLengthPrefix);
}

// Whether a training of fewer epochs is the beginning of a longer one, so that its result can be
// read there and no control need be run: nothing in the recipe looks at the number of epochs.
bool is_prefix_of_longer(const Recipe& recipe);

// The recipe in a share of its length that is above 0 and at most 1, and in no less: in whole
// hundredths of an epoch, and in no fewer steps than the share of its own. An epoch that this
// breaks off is the last one. `steps_per_epoch`: 0 where it is not known, and a last step that is
// broken off is then left out.
Recipe shortened(const Recipe& recipe, double share, int64_t steps_per_epoch);

// The recipe as long as another one is. Whatever it says in epochs, and the decay of its learning
// rate an epoch, is scaled along, so that the learning rate goes through the same course in less
// time.
Recipe shortened_like(const Recipe& recipe, const Recipe& length);

}  // namespace approx
