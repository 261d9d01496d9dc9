#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <iterator>
#include <limits>

#include "kernels/float16.h"
#include "kernels/select/largest_gpu.h"
#include "kernels/select/peaks_gpu.h"
#include "tests/gpu_checks/checks.h"

namespace approx {
namespace {

// Ties, and what is no number.
std::vector<float> drawn_plane_entries(Draws& draw, int64_t count) {
  std::vector<float> values;
  for (int64_t i = 0; i < count; ++i) {
    const int64_t kind = draw.below(50);
    values.push_back(kind == 0   ? std::numeric_limits<float>::quiet_NaN()
                     : kind == 1 ? -std::numeric_limits<float>::infinity()
                                 : static_cast<float>(draw.below(9) - 4) / 4);
  }
  return values;
}

bool is_same(float got, float wanted) {
  if (std::isnan(wanted)) return std::isnan(got);
  if (std::isinf(wanted)) return got == wanted;
  return std::abs(got - wanted) <= 1e-4 * std::max(1.0f, std::abs(wanted));
}

template <typename Number, int kMost>
std::string all_peaks_agree(uint64_t seed) {
  static constexpr int64_t kChannels[] = {1, 2, 3, 5, 8, 33};
  Draws draw(seed);
  PeaksArgs<Number> args{.n = 1 + draw.below(2),
                         .plane = 1 + draw.below(draw.below(2) == 0 ? 6 : 150),
                         .co = kChannels[draw.below(6)]};
  args.k = std::min<int64_t>(1 + draw.below(kMost), args.plane);
  args.scale = static_cast<PeakScale>(draw.below(4));
  args.factor = draw.below(2) == 0 ? 1 : 0.25f;
  const auto numbers = as_numbers<Number>(drawn_plane_entries(draw, args.n * args.plane * args.co));
  const int64_t entries = args.n * args.co * args.k;
  std::vector<int32_t> wanted(static_cast<size_t>(entries)), got;
  std::vector<float> wanted_value(wanted.size()), values;
  auto definition = args;
  definition.dy = numbers.data();
  definition.position = wanted.data();
  definition.value = wanted_value.data();
  plane_peaks_reference(definition, 0, args.n);

  const GpuArray<Number> dy(numbers);
  std::string wrong = in_all_orders<std::vector<int32_t>>(
      [&](Order order, std::vector<int32_t>& results) {
        GpuArray<int32_t> position(entries);
        GpuArray<float> value(entries);
        args.dy = dy.data();
        args.position = position.data();
        args.value = value.data();
        std::string failed = emulate(PlanePeaks<Number, kMost>{args}, order);
        if (!position.intact() || !value.intact()) failed = "it wrote outside its result";
        results = position.values();
        values = value.values();
        return failed;
      },
      got);
  for (size_t i = 0; i < wanted.size() && wrong.empty(); ++i) {
    if (got[i] != wanted[i] || !is_same(values[i], wanted_value[i])) {
      wrong = fmt::format("entry {} is {} at {}, which should be {} at {}", i, values[i], got[i],
                          wanted_value[i], wanted[i]);
    }
  }
  return wrong.empty() ? wrong
                       : fmt::format("{} (n {}, plane {}, co {}, k {}, scale {})", wrong, args.n,
                                     args.plane, args.co, args.k, static_cast<int>(args.scale));
}

// By the definition: how many are before each.
std::vector<int64_t> ahead_by_definition(const std::vector<double>& score) {
  const auto comes_before = [&](size_t j, size_t i) {
    if (std::isnan(score[i]) || std::isnan(score[j])) {
      return std::isnan(score[j]) && (!std::isnan(score[i]) || j < i);
    }
    return score[j] > score[i] || (score[j] == score[i] && j < i);
  };
  std::vector<int64_t> ahead(score.size());
  for (size_t i = 0; i < score.size(); ++i) {
    for (size_t j = 0; j < score.size(); ++j) ahead[i] += comes_before(j, i) ? 1 : 0;
  }
  return ahead;
}

std::string chooses_largest(const std::vector<double>& score, int64_t k) {
  const auto count = static_cast<int64_t>(score.size());
  const auto ahead = ahead_by_definition(score);
  std::vector<int64_t> wanted, got;
  for (int64_t i = 0; i < count; ++i) {
    if (ahead[static_cast<size_t>(i)] < k) wanted.push_back(i);
  }
  const GpuArray<double> there(score);
  std::string wrong = in_all_orders<std::vector<int64_t>>(
      [&](Order order, std::vector<int64_t>& results) {
        GpuArray<int64_t> index(k);
        std::string failed = emulate(LargestScores{{count, k, there.data(), index.data()}}, order);
        if (!index.intact()) failed = "it wrote outside its result";
        results = index.values();
        return failed;
      },
      got);
  if (wrong.empty() && got != wanted) wrong = "other indices than the definition's";
  return wrong.empty() ? wrong : fmt::format("{} ({} of {})", wrong, k, count);
}

std::string largest_agree(uint64_t seed) {
  Draws draw(seed);
  // More than a block has threads, at times.
  const int64_t count = draw.below(6) == 0   ? 1024 + draw.below(300)
                        : draw.below(2) == 0 ? 1 + draw.below(9)
                                             : 1 + draw.below(150);
  const int64_t k = draw.below(count + 1);
  std::vector<double> score;
  for (int64_t i = 0; i < count; ++i) {
    const int64_t kind = draw.below(30);
    score.push_back(kind == 0   ? std::numeric_limits<double>::quiet_NaN()
                    : kind == 1 ? std::numeric_limits<double>::infinity()
                                : static_cast<double>(draw.below(20)) / 4);
  }
  return chooses_largest(score, k);
}

double any_bits(Draws& draw) {
  uint64_t bits = 0;
  for (int part = 0; part < 4; ++part) bits = bits << 16 | static_cast<uint64_t>(draw.below(65536));
  return std::bit_cast<double>(bits);
}

// What a choice can go wrong over.
enum class Scores { kEqual, kTies, kAnyBits, kSpecial, kNorms, kTiny, kNeighbours };
constexpr uint64_t kScoreKinds = 7;

double drawn_score(Draws& draw, Scores kind) {
  using Limits = std::numeric_limits<double>;
  static constexpr double kSpecials[] = {Limits::quiet_NaN(),
                                         -Limits::quiet_NaN(),
                                         Limits::signaling_NaN(),
                                         Limits::infinity(),
                                         -Limits::infinity(),
                                         Limits::max(),
                                         Limits::lowest(),
                                         Limits::denorm_min(),
                                         0.0,
                                         -0.0,
                                         1.0,
                                         -1.0};
  const auto small = static_cast<double>(draw.below(7) - 3);
  switch (kind) {
    case Scores::kEqual:
      return 0.7;
    case Scores::kTies:
      return static_cast<double>(draw.below(3));
    case Scores::kAnyBits:
      return any_bits(draw);  // NaNs, denormals and both signs among them
    case Scores::kSpecial:
      return kSpecials[draw.below(std::size(kSpecials))];
    case Scores::kNorms:
      return 1 + std::abs(std::remainder(any_bits(draw), 1.0));
    case Scores::kTiny:
      return draw.below(2) == 0 ? -0.0 : small * Limits::denorm_min();
    case Scores::kNeighbours:
      return small < 0 ? -1 + small * Limits::epsilon() : 1 + small * Limits::epsilon();
  }
  return 0;
}

// Each case has scores of another kind, and of each number of them another share is chosen.
std::string largest_of_kinds_agree(uint64_t seed) {
  static constexpr int64_t kCounts[] = {1,   2,   31,  32,  33,   64,   100,
                                        128, 129, 255, 256, 1000, 1025, kMostScores};
  Draws draw(seed);
  const auto kind = static_cast<Scores>(seed % kScoreKinds);
  uint64_t turn = seed;
  for (const int64_t count : kCounts) {
    std::vector<double> score;
    for (int64_t i = 0; i < count; ++i) score.push_back(drawn_score(draw, kind));
    const int64_t ks[] = {1, count / 3, count / 2, count - 1, count};
    const std::string wrong = chooses_largest(score, ks[turn++ % std::size(ks)]);
    if (!wrong.empty()) return fmt::format("{}, kind {}", wrong, static_cast<int>(kind));
  }
  return {};
}

std::vector<Agreement> peaks_on_gpu() {
  return {{"all peaks, two", all_peaks_agree<float, 2>},
          {"all peaks, four", all_peaks_agree<float, 4>},
          {"all peaks, eight", all_peaks_agree<float, 8>},
          {"all peaks of bfloat16, four", all_peaks_agree<BFloat16, 4>},
          {"all peaks of float16, four", all_peaks_agree<Float16, 4>},
          {"the largest scores", largest_agree},
          {"the largest scores of all kinds", largest_of_kinds_agree}};
}

const GpuChecks kChecks{peaks_on_gpu};

}  // namespace

}  // namespace approx
