#include <fmt/format.h>

#include <algorithm>
#include <cmath>
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

// By the definition: whatever is before too few others is kept.
std::vector<int64_t> largest_by_definition(const std::vector<double>& score, int64_t k) {
  std::vector<int64_t> kept;
  const auto comes_before = [&](size_t j, size_t i) {
    if (std::isnan(score[i]) || std::isnan(score[j])) {
      return std::isnan(score[j]) && (!std::isnan(score[i]) || j < i);
    }
    return score[j] > score[i] || (score[j] == score[i] && j < i);
  };
  for (size_t i = 0; i < score.size(); ++i) {
    int64_t ahead = 0;
    for (size_t j = 0; j < score.size(); ++j) ahead += comes_before(j, i) ? 1 : 0;
    if (ahead < k) kept.push_back(static_cast<int64_t>(i));
  }
  return kept;
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
  const auto wanted = largest_by_definition(score, k);
  const GpuArray<double> there(score);
  std::vector<int64_t> got;
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

}  // namespace

std::vector<Agreement> peaks_on_gpu() {
  return {{"all peaks, two", all_peaks_agree<float, 2>},
          {"all peaks, four", all_peaks_agree<float, 4>},
          {"all peaks, eight", all_peaks_agree<float, 8>},
          {"all peaks of bfloat16, four", all_peaks_agree<BFloat16, 4>},
          {"all peaks of float16, four", all_peaks_agree<Float16, 4>},
          {"the largest scores", largest_agree}};
}

}  // namespace approx
