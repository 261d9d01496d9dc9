// A gradient of which few entries are not zero, as values and positions.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>

namespace approx {

// Room for how many entries each of `ranks` ranks sends of a gradient of `entries` floats, where
// `expected` of them, the mean over the ranks, were not zero when they were last counted; 0 where
// the whole gradient takes no more bytes than that, or nothing was counted. Each rank's entries go
// to all others, while of the whole a sum takes 2 (ranks - 1) / ranks, so it pays where less than
// about one in `ranks` entries is not zero.
int64_t scattered_room(double expected, int64_t entries, int64_t ranks);

// How many entries of `flat` [n] float are not zero.
int64_t nonzero_entries(const at::Tensor& flat);

// The scattered values of `flat` [n] float: [1 + 2 room] int32, their number, positions in
// ascending order, and the bits of the values. If there are more than `room`, only the number is
// told.
at::Tensor packed_scattered(const at::Tensor& flat, int64_t room);

// Writes over `flat` [n] the sum of what `all` [ranks, 1 + 2 room] holds, added in the order of the
// ranks. Returns false, and leaves `flat` alone, where one of them had more than fits.
bool sum_scattered(const at::Tensor& all, const at::Tensor& flat);

}  // namespace approx
