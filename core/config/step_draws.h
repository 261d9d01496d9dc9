// The random choices of a schedule: at which steps a rule with a chance holds.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace approx {

// Steps go in rounds of kPatterns. Each round visits all patterns once, in an order drawn for it.
// For each rule and layer, or block, a fixed number of patterns is drawn, in which the rule holds.
// So few different steps occur that all of them can be captured as graphs, and every round does
// equally much work. At any one step each pattern is equally likely. A choice follows from the
// seed, the rule, the unit and the step alone: ranks agree on it, and a checkpoint needs none of
// it.
class StepDraws {
 public:
  // A pattern is a bit of a mask.
  static constexpr int64_t kPatterns = 64;

  explicit StepDraws(uint64_t seed) : seed_(seed) {}

  // The pattern of a step, below kPatterns.
  int64_t pattern(int64_t step) const;

  // A mask with `patterns` ones, drawn for one unit (a layer or a block) of one rule.
  uint64_t mask(uint64_t rule, uint64_t unit, int64_t patterns) const;

 private:
  uint64_t seed_;
};

// The number of patterns that stand for the `chance` of a rule, 1 to kPatterns - 1: the nearest
// 64th. Throws Error(kUsage) that begins with `chance = "..."`.
int64_t parse_chance(std::string_view text);

// One spelling for all chances of one meaning.
std::string canonical_chance(std::string_view text);

}  // namespace approx
