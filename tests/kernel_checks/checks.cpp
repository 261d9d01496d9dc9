#include "tests/kernel_checks/checks.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>

namespace approx {
namespace {

constexpr float kUntouched = -12345.5F;

}  // namespace

float Draws::number() {
  const auto words = rng_.block(next_++);
  switch (words[1] % 64) {
    case 0:
      return 1e-40F;
    case 1:
      return -0.0F;
    default:
      return static_cast<float>(static_cast<double>(words[0]) / 2147483648.0 - 1);
  }
}

std::vector<float> Draws::numbers(int64_t count, double density) {
  std::vector<float> values(static_cast<size_t>(count));
  const auto most = static_cast<int64_t>(density * 65536);
  for (auto& value : values) value = below(65536) < most ? number() : 0;
  return values;
}

Guarded::Guarded(int64_t count) : memory_(static_cast<size_t>(count + 2 * kZone), kUntouched) {}

bool Guarded::intact() const {
  const auto untouched = [](float value) { return value == kUntouched; };
  return std::all_of(memory_.begin(), memory_.begin() + kZone, untouched) &&
         std::all_of(memory_.end() - kZone, memory_.end(), untouched);
}

std::string difference(const float* got, const std::vector<double>& truth, double rounding) {
  double largest = 0;
  for (const double value : truth) largest = std::max(largest, std::abs(value));
  for (size_t i = 0; i < truth.size(); ++i) {
    if (!(std::abs(got[i] - truth[i]) <= 2e-5 * largest + rounding * std::abs(truth[i]) + 1e-30)) {
      return fmt::format("number {} of {} is {} and should be {}", i, truth.size(), got[i],
                         truth[i]);
    }
  }
  return {};
}

bool says(const Agreement& agreement, uint64_t cases) {
  std::string wrong;
  uint64_t seed = 1;
  for (; seed <= cases && wrong.empty(); ++seed) wrong = agreement.check(seed);
  fmt::print("{}: {}\n", agreement.name,
             wrong.empty() ? fmt::format("{} cases agree", cases)
                           : fmt::format("case {}: {}", seed - 1, wrong));
  return wrong.empty();
}

}  // namespace approx
