#include "tests/fuzz/short_memory.h"

#include <atomic>
#include <cerrno>
#include <cstddef>

namespace approx::fuzz {
namespace {

std::atomic<bool> counts{false};
std::atomic<int64_t> calls{0}, first_failure{0};
std::atomic<bool> fails_on{false};

// Whether this allocation fails.
[[maybe_unused]] bool fails() {
  if (!counts) return false;
  const int64_t call = ++calls;
  const int64_t first = first_failure;
  if (first == 0 || call < first || (call > first && !fails_on)) return false;
  errno = ENOMEM;
  return true;
}

}  // namespace

void begin_short_memory(int64_t first, bool all_after) {
  calls = 0;
  first_failure = first;
  fails_on = all_after;
  counts = true;
}

int64_t end_short_memory() {
  counts = false;
  return calls;
}

}  // namespace approx::fuzz

#if defined(__GLIBC__) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
// NOLINTBEGIN(bugprone-reserved-identifier,readability-identifier-naming)
extern "C" {
void* __libc_malloc(size_t size);
void* __libc_calloc(size_t count, size_t size);
void* __libc_realloc(void* block, size_t size);

void* malloc(size_t size) noexcept { return approx::fuzz::fails() ? nullptr : __libc_malloc(size); }

void* calloc(size_t count, size_t size) noexcept {
  return approx::fuzz::fails() ? nullptr : __libc_calloc(count, size);
}

void* realloc(void* block, size_t size) noexcept {
  return approx::fuzz::fails() ? nullptr : __libc_realloc(block, size);
}
}
// NOLINTEND(bugprone-reserved-identifier,readability-identifier-naming)
#endif
