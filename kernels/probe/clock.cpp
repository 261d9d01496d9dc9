#include "kernels/probe/clock.h"

#include <algorithm>
#include <chrono>
#include <cstdint>

namespace approx {
namespace {

constexpr int kClockTries = 5;
constexpr int64_t kUnrolled = 16;
constexpr int64_t kAdditions = 10'000 * kUnrolled;  // 50 us at 3.2 GHz

// Additions of a number that the compiler does not know, each kept apart from the next: of known
// numbers processors add up several at once, too.
int64_t add_up(int64_t summand) {
  int64_t sum = 0;
  for (int64_t i = 0; i < kAdditions; i += kUnrolled) {
#pragma GCC unroll 16
    for (int64_t j = 0; j < kUnrolled; ++j) {
      sum += summand;
      asm volatile("" : "+r"(sum), "+r"(summand));
    }
  }
  return sum;
}

}  // namespace

double core_clock_hz() {
  double best = 0;
  int64_t summand = 1;
  asm volatile("" : "+r"(summand));
  for (int i = 0; i < kClockTries; ++i) {
    const auto before = std::chrono::steady_clock::now();
    const int64_t sum = add_up(summand);
    const std::chrono::duration<double> spent = std::chrono::steady_clock::now() - before;
    best = std::max(best, static_cast<double>(sum) / std::max(spent.count(), 1e-9));
  }
  return best;
}

}  // namespace approx
