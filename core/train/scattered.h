// A gradient with few nonzero entries, as values and positions.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>

namespace approx {

// The number of entries for which each of `ranks` ranks gets room in the message for a gradient of
// `entries` floats. `expected` of them were not zero when they were last counted, the mean over the
// ranks. 0 if the whole gradient takes no more bytes, or if nothing was counted. Each rank's
// entries go to all other ranks, while a sum of the whole gradient moves 2 (ranks - 1) / ranks of
// it. Scattered messages therefore pay if less than about one in `ranks` entries is not zero.
int64_t scattered_room(double expected, int64_t entries, int64_t ranks);

// The number of entries of `flat` [n] float that are not zero.
int64_t nonzero_entries(const at::Tensor& flat);

// The scattered values of `flat` [n] float: [1 + 2 room] int32. They are the number of values, the
// positions in ascending order, and the bits of the values. If there are more than `room`, only the
// number is set.
at::Tensor packed_scattered(const at::Tensor& flat, int64_t room);

// Overwrites `flat` [n] with the sum of the values in `all` [ranks, 1 + 2 room], added in the order
// of the ranks. Returns false, and leaves `flat` unchanged, if a rank had more values than fit.
bool sum_scattered(const at::Tensor& all, const at::Tensor& flat);

}  // namespace approx
