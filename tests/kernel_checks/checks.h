// The loops of the kernels without LibTorch: held to their definitions on machines that have none
// (valgrind's, an emulated ARM), and run one by one for their instructions to be counted.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "kernels/rng.h"
#include "kernels/team.h"

namespace approx {

// Whole numbers and normal-looking floats that follow from a seed.
class Draws {
 public:
  explicit Draws(uint64_t seed) : rng_{.seed = seed} {}

  int64_t below(int64_t n) { return Rng::below(static_cast<uint32_t>(n), rng_.block(next_++)[0]); }
  // In [-1, 1); a denormal and both zeros among them now and then.
  float number();
  // So many, of which `density` are not zero.
  std::vector<float> numbers(int64_t count, double density = 1);

 private:
  Rng rng_;
  uint32_t next_ = 0;
};

// Memory between two zones that nobody may write to.
class Guarded {
 public:
  explicit Guarded(int64_t count);
  float* data() { return memory_.data() + kZone; }
  const float* data() const { return memory_.data() + kZone; }
  int64_t size() const { return static_cast<int64_t>(memory_.size()) - 2 * kZone; }
  bool intact() const;

 private:
  static constexpr int64_t kZone = 64;
  std::vector<float> memory_;
};

// Items one after the other, the first or the last first: what they compute must not depend on it.
class OneByOne final : public Team {
 public:
  explicit OneByOne(bool backwards = false) : backwards_(backwards) {}
  void share(int64_t items, const std::function<void(int64_t item)>& work) const override {
    for (int64_t i = 0; i < items; ++i) work(backwards_ ? items - 1 - i : i);
  }

 private:
  bool backwards_;
};

// Where `got` is further from `truth` than 2e-5 of its largest magnitude, and than `rounding` of
// its own; empty: nowhere.
std::string difference(const float* got, const std::vector<double>& truth, double rounding = 0);

// Rounded to what they are in memory.
template <typename Number>
std::vector<Number> as_numbers(const std::vector<float>& values) {
  std::vector<Number> numbers;
  numbers.reserve(values.size());
  for (const float value : values) numbers.push_back(Number(value));
  return numbers;
}

// Holds loops to their definition on shapes drawn from `seed`; returns what is wrong, or nothing.
struct Agreement {
  std::string name;
  std::function<std::string(uint64_t seed)> check;
};
// Prints whether it holds for so many seeds, or what is wrong with the first for which not.
bool says(const Agreement& agreement, uint64_t cases);
std::vector<Agreement> product_agreements();
std::vector<Agreement> selection_agreements();

// What is wrong with sums of many numbers, or nothing.
std::string long_sums_wrong();

// A hot kernel on one shape, its operands ready.
struct HotKernel {
  std::string name;
  std::function<std::function<void()>()> prepared;
};
std::vector<HotKernel> hot_kernels();
std::vector<HotKernel> hot_selections();

}  // namespace approx
