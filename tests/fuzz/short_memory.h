// Makes allocations of this process fail, by number. It replaces malloc, calloc and realloc, which
// operator new, SQLite and the decoders of images call.
#pragma once

#include <cstdint>
#include <cstdlib>  // defines __GLIBC__

namespace approx::fuzz {

// Whether it can: a sanitizer has an allocator of its own, and so may another C library.
#if defined(__GLIBC__) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
inline constexpr bool kMemoryCanFail = true;
#else
inline constexpr bool kMemoryCanFail = false;
#endif

// From now on counts allocations of all threads. Number `first` (from 1) fails, with `all_after`
// also every later one. Nothing fails where `first` is 0.
void begin_short_memory(int64_t first, bool all_after);

// Ends this. Returns how many allocations there were.
int64_t end_short_memory();

}  // namespace approx::fuzz
