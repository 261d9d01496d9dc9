#include <fmt/format.h>

#include <cmath>
#include <limits>

#include "kernels/float16.h"
#include "kernels/select/peak_gpu.h"
#include "tests/gpu_checks/checks.h"

namespace approx {
namespace {

struct Planes {
  Planes(Draws& draw, int width)
      : n(1 + draw.below(2)), plane(1 + draw.below(draw.below(2) == 0 ? 6 : 150)) {
    static constexpr int64_t kVectors[] = {1, 2, 3, 5, 8, 33};
    co = kVectors[draw.below(6)] * width;
    // Ties, and what is no number, at the first pixel too.
    for (int64_t i = 0; i < n * plane * co; ++i) {
      const int64_t kind = draw.below(40);
      dy.push_back(kind == 0   ? std::numeric_limits<float>::quiet_NaN()
                   : kind == 1 ? -std::numeric_limits<float>::infinity()
                               : static_cast<float>(draw.below(7) - 3) / 4);
    }
  }

  int64_t n = 0, plane = 0, co = 0;
  std::vector<float> dy;
};

template <typename Number, int kWidth>
std::string peaks_agree(uint64_t seed) {
  Draws draw(seed);
  const Planes planes(draw, kWidth);
  const bool in_double = draw.below(2) == 0;
  std::vector<int32_t> wanted(static_cast<size_t>(planes.n * planes.co));
  std::vector<float> wanted_sum(wanted.size()), sums;
  const auto numbers = as_numbers<Number>(planes.dy);
  plane_peak_reference(PeakArgs<Number>{planes.n, planes.plane, planes.co, numbers.data(),
                                        wanted.data(), wanted_sum.data()},
                       0, planes.n);

  const GpuArray<Number> dy(numbers);
  std::vector<int32_t> got;
  std::string wrong = in_all_orders<std::vector<int32_t>>(
      [&](Order order, std::vector<int32_t>& results) {
        GpuArray<int32_t> position(planes.n * planes.co);
        GpuArray<float> sum(planes.n * planes.co);
        const PeakArgs<Number> args{planes.n,  planes.plane,    planes.co,
                                    dy.data(), position.data(), sum.data()};
        std::string failed;
        if (in_double) {
          failed = emulate(PlanePeak<Number, kWidth>{args}, order);
        } else {
          with_peak_kernel<kWidth>(args, [&](const auto& one) { failed = emulate(one, order); });
        }
        if (!position.intact() || !sum.intact()) failed = "it wrote outside its result";
        results = position.values();
        sums = sum.values();
        return failed;
      },
      got);
  for (size_t i = 0; i < wanted.size() && wrong.empty(); ++i) {
    const bool same_sum = std::abs(sums[i] - wanted_sum[i]) <= 1e-4 || sums[i] == wanted_sum[i] ||
                          (std::isnan(sums[i]) && std::isnan(wanted_sum[i]));
    if (got[i] != wanted[i] || !same_sum) {
      wrong = fmt::format("plane {} has its peak at {} and the sum {}, which should be {} and {}",
                          i, got[i], sums[i], wanted[i], wanted_sum[i]);
    }
  }
  return wrong.empty()
             ? wrong
             : fmt::format("{} (n {}, plane {}, co {})", wrong, planes.n, planes.plane, planes.co);
}

std::vector<Agreement> peak_on_gpu() {
  return {{"peak, fours", peaks_agree<float, 4>},
          {"peak, one by one", peaks_agree<float, 1>},
          {"peak of bfloat16, fours", peaks_agree<BFloat16, 4>},
          {"peak of bfloat16, one by one", peaks_agree<BFloat16, 1>},
          {"peak of float16, fours", peaks_agree<Float16, 4>},
          {"peak of float16, one by one", peaks_agree<Float16, 1>}};
}

const GpuChecks kChecks{peak_on_gpu};

}  // namespace

}  // namespace approx
