// Sums of many numbers and of numbers near the ends of the range of float, on a GPU. Skipped where
// there is none.
#include <fmt/format.h>

#include <optional>

#include "core/train/device.h"
#include "kernels/norm/fused_norm.h"
#include "kernels/select/select.h"
#include "tests/testing.h"

namespace approx {
namespace {

constexpr auto kPixelsFirst = at::MemoryFormat::ChannelsLast;

const std::optional<at::Device>& gpu(std::string* reason) {
  static std::string why;
  static const auto device = []() -> std::optional<at::Device> {
    try {
      return open_device(DeviceKind::kCuda);
    } catch (const Error& error) {
      why = error.what();
      return std::nullopt;
    }
  }();
  *reason = why;
  return device;
}

#define DEVICE_OR_SKIP(device)      \
  std::string reason;               \
  const auto device = gpu(&reason); \
  if (!device) {                    \
    GTEST_SKIP() << reason;         \
  }

double off_by(const at::Tensor& got, const at::Tensor& wanted) {
  const auto a = got.to(at::kCPU, at::kDouble), b = wanted.to(at::kCPU, at::kDouble);
  return ((a - b).abs() / b.abs()).max().item<double>();
}

// Constant, and one huge number among small ones.
TEST(Cuda, SumsOfManyNumbersAreRight) {
  DEVICE_OR_SKIP(device);
  for (const auto type : {at::kFloat, at::kBFloat16, at::kHalf}) {
    for (const int64_t channels : {8, 5}) {
      for (const int64_t pixels : {1, 3, 17, 255, 12544, 50176, (1 << 20) + 3, 1 << 21}) {
        for (const bool has_huge : {false, true}) {
          SCOPED_TRACE(fmt::format("{}, {} channels, {} pixels{}", toString(type), channels, pixels,
                                   has_huge ? ", one huge" : ""));
          auto dy = at::full({1, channels, pixels, 1}, has_huge ? 1e-3F : 0.1F);
          if (has_huge) dy.select(2, pixels / 3).fill_(1e3F);
          dy = dy.to(type).contiguous(kPixelsFirst);
          const auto there = dy.to(*device);
          const auto exact = dy.to(at::kDouble);
          const auto sum = exact.sum({2, 3});
          EXPECT_LE(off_by(plane_peak(there).second.squeeze(-1), sum), 1e-6);
          if (pixels > 1) {
            const auto peaks = plane_peaks(there, 2, PeakScale::kEqual, 1).second;
            EXPECT_LE(off_by(peaks.select(2, 1), sum / 2), 1e-6);
          }
          EXPECT_LE(off_by(plane_magnitude(there).flatten(1), sum), 1e-6);
          EXPECT_LE(off_by(mean_magnitude(there), exact.mean()), 1e-6);
          for (const int64_t dim : {0, 1}) {
            EXPECT_LE(off_by(slice_norms(there, dim), exact.square().sum({1 - dim, 2, 3}).sqrt()),
                      1e-6);
          }
        }
      }
    }
  }
}

TEST(Cuda, SumsOfManyNumbersOfANormAreRight) {
  DEVICE_OR_SKIP(device);
  for (const int64_t pixels : {1000, 50176, 1 << 21}) {
    SCOPED_TRACE(pixels);
    // The first pixel is the shift: zero, so that nothing cancels.
    auto x = at::full({1, 8, pixels, 1}, 0.1F).contiguous(kPixelsFirst);
    x.select(2, 0).fill_(0);
    const auto there = x.to(*device);
    const auto statistics = norm_statistics(there, 1e-5);
    const auto exact = x.to(at::kDouble);
    EXPECT_LE(off_by(statistics.mean, exact.mean({0, 2, 3})), 2e-6);
    const auto ones = at::ones({8}).to(*device), zeros = at::zeros({8}).to(*device);
    const auto gradients = norm_backward(at::full_like(there, 0.1F), {}, there, ones, zeros, zeros,
                                         ones, NormTail::kNone);
    const double sum = static_cast<double>(0.1F) * static_cast<double>(pixels);
    EXPECT_LE(off_by(gradients.dbias, at::full({8}, sum, at::kDouble)), 1e-6);
  }
}

// Blocks join their sums in the order of the blocks, whichever comes last, and leave their counts
// as they were: also beside other work, of odd channels, and after norms of other sizes.
TEST(Cuda, ANormHasTheSameBitsEveryTime) {
  DEVICE_OR_SKIP(device);
  at::manual_seed(5);
  const auto noise = at::randn({512, 512}).to(*device);
  for (const int64_t channels : {3, 64, 520}) {
    for (const auto type : {at::kFloat, at::kBFloat16, at::kHalf}) {
      SCOPED_TRACE(fmt::format("{} channels of {}", channels, toString(type)));
      const auto map = [&] {
        return at::randn({16, channels, 40, 40}).to(*device, type).contiguous(kPixelsFirst);
      };
      const auto x = map(), dy = map();
      const auto weight = at::rand({channels}).to(*device),
                 bias = at::randn({channels}).to(*device);
      const auto all = [&] {
        const RunningStatistics running{at::zeros({channels}).to(*device),
                                        at::ones({channels}).to(*device), 0.1};
        const auto s = norm_statistics_moving(x, 1e-5, running, 1.25);
        const auto g =
            norm_backward(dy, {}, x, weight, bias, s.mean, s.inverse_deviation, NormTail::kRelu);
        return std::vector<at::Tensor>{
            s.mean,  s.variance, s.inverse_deviation, running.mean, running.variance, g.dweight,
            g.dbias, g.dx};
      };
      const auto first = all();
      for (int repeat = 0; repeat < 100; ++repeat) {
        const auto beside = at::mm(noise, noise);
        const auto again = all();
        for (size_t i = 0; i < first.size(); ++i) {
          ASSERT_TRUE(at::equal(again[i], first[i])) << "result " << i << ", repeat " << repeat;
        }
        norm_statistics(x.narrow(0, 0, 1 + repeat % 15), 1e-5);
      }
    }
  }
}

TEST(Cuda, RunningStatisticsMoveAsOnACpu) {
  DEVICE_OR_SKIP(device);
  at::manual_seed(6);
  for (const int64_t channels : {5, 72}) {
    const auto x = (at::randn({4, channels, 30, 30}) * 2 + 3).contiguous(kPixelsFirst);
    const auto moved = [&](const at::Tensor& map) {
      const RunningStatistics running{at::full({channels}, 2.0F).to(map.device()),
                                      at::full({channels}, 0.5F).to(map.device()), 0.3};
      norm_statistics_moving(map, 1e-5, running, 1.5);
      return running;
    };
    const auto wanted = moved(x), got = moved(x.to(*device));
    EXPECT_LE(off_by(got.mean, wanted.mean.to(at::kDouble)), 1e-5);
    EXPECT_LE(off_by(got.variance, wanted.variance.to(at::kDouble)), 1e-5);
  }
}

TEST(Cuda, FarGradientsAreRescaledAsSmallerOnesAre) {
  DEVICE_OR_SKIP(device);
  const double scale = std::ldexp(1.0, 120);
  for (const auto type : {at::kFloat, at::kBFloat16}) {
    for (const int64_t side : {3, 28, 112}) {
      for (const auto rescaling : {Rescaling::kPlane, Rescaling::kGroup}) {
        for (const int64_t m : {2, 4, 8, 16, 32}) {
          SCOPED_TRACE(fmt::format("{}, side {}, of {}", toString(type), side, m));
          const auto small =
              at::randn({2, 64, side, side}).to(*device, type).contiguous(kPixelsFirst);
          const NmChoice choice{.n = m / 2, .m = m, .rescaling = rescaling};
          const auto wanted = nm_pruned(small, choice, Rng{}).dy * scale;
          EXPECT_TRUE(at::equal(nm_pruned(small * scale, choice, Rng{}).dy, wanted));
        }
      }
      const auto small = at::randn({2, 64, side, side}).to(*device, type).contiguous(kPixelsFirst);
      const auto method = make_method("sdgp:rescale=channel");
      const auto pruned = [&](const at::Tensor& dy) {
        auto operands = operands_with_dy(dy.cpu());
        operands.dy = dy;
        return std::get<PrunedDY>(method->plan(operands, {})).dy;
      };
      EXPECT_TRUE(at::equal(pruned(small * scale), pruned(small) * scale));
    }
  }
}

TEST(Cuda, FarGradientsKeepTheirExpectationAndTheirNorms) {
  DEVICE_OR_SKIP(device);
  for (const auto& [type, size] : {std::pair(at::kFloat, 1e36), std::pair(at::kFloat, 2e38),
                                   std::pair(at::kFloat, 1e-42), std::pair(at::kBFloat16, 1e36),
                                   std::pair(at::kBFloat16, 2e38), std::pair(at::kHalf, 4e4)}) {
    SCOPED_TRACE(fmt::format("{} of {}", toString(type), size));
    const auto dy = ((at::rand({2, 64, 56, 56}, at::kDouble) * 0.5 + 0.5) * size)
                        .to(type)
                        .contiguous(kPixelsFirst);
    const auto there = dy.to(*device);
    const auto tau = mean_magnitude(there) * 2.06;
    const auto pruned = stochastic_pruned(there, tau, Rng{.seed = 3}).dy.cpu().to(at::kDouble);
    const double ratio =
        (pruned / size).mean().item<double>() / (dy.to(at::kDouble) / size).mean().item<double>();
    EXPECT_NEAR(ratio, 1, 1e-2);
    for (const int64_t dim : {0, 1}) {
      EXPECT_LE(
          off_by(slice_norms(there, dim), dy.to(at::kDouble).square().sum({1 - dim, 2, 3}).sqrt()),
          1e-6);
    }
  }
}

}  // namespace
}  // namespace approx
