#include "core/config/step_draws.h"

#include <array>
#include <cmath>
#include <numeric>
#include <utility>

#include "base/error.h"
#include "base/numbers.h"
#include "base/params.h"
#include "base/text.h"

namespace approx {
namespace {

// Steele, Lea & Flood 2014, "Fast splittable pseudorandom number generators": SplitMix64.
constexpr uint64_t mixed(uint64_t z) {
  z += 0x9e3779b97f4a7c15;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
  z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
  return z ^ (z >> 31);
}

// So that draws of rounds and of units do not share a stream.
constexpr uint64_t kRounds = 1, kUnits = 2;

}  // namespace

int64_t StepDraws::pattern(int64_t step) const {
  static_assert(kPatterns == 64, "an odd factor permutes numbers modulo a power of two");
  const auto round = static_cast<uint64_t>(step / kPatterns);
  const uint64_t drawn = mixed(mixed(mixed(seed_) + kRounds) + round);
  const uint64_t factor = 2 * (drawn & 31) + 1, shift = drawn >> 8;
  return static_cast<int64_t>((factor * static_cast<uint64_t>(step) + shift) % kPatterns);
}

uint64_t StepDraws::mask(uint64_t rule, uint64_t unit, int64_t patterns) const {
  std::array<uint64_t, kPatterns> order{};
  std::iota(order.begin(), order.end(), uint64_t{0});
  uint64_t state = mixed(mixed(mixed(mixed(seed_) + kUnits) + rule) + unit);
  uint64_t chosen = 0;
  for (uint64_t i = 0; i < static_cast<uint64_t>(patterns); ++i) {
    state = mixed(state);
    const uint64_t left = kPatterns - i;
    std::swap(order.at(i), order.at(i + (state >> 8) % left));  // 64 in 2^56 are uneven
    chosen |= uint64_t{1} << order.at(i);
  }
  return chosen;
}

int64_t parse_chance(std::string_view text) {
  const auto chance = parse_real(trim(text), 0, 1);
  const auto patterns =
      chance ? std::llround(*chance * static_cast<double>(StepDraws::kPatterns)) : 0;
  if (patterns < 1 || patterns >= StepDraws::kPatterns) {
    throw usage_error(
        "chance = {}: expected a share of the steps from 1/64 to 63/64, such as 0.5; leave it out "
        "for a rule that holds at all steps",
        quote(text));
  }
  return patterns;
}

std::string canonical_chance(std::string_view text) {
  return shortest(static_cast<double>(parse_chance(text)) /
                  static_cast<double>(StepDraws::kPatterns));
}

}  // namespace approx
