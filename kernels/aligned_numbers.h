// Memory for vectors, aligned to them.
#pragma once

#include <hwy/aligned_allocator.h>

#include <cstdint>

namespace approx {

template <typename T>
using AlignedNumbers = hwy::AlignedFreeUniquePtr<T[]>;

// (Highway cannot allocate memory of size 0.)
template <typename T>
AlignedNumbers<T> allocate_numbers(int64_t count) {
  return hwy::AllocateAligned<T>(static_cast<size_t>(count > 0 ? count : 1));
}

}  // namespace approx
