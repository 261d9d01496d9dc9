#include "kernels/select/select.h"

#include <array>
#include <limits>

#include "tests/testing.h"

namespace approx {
namespace {

TEST(PlanePeak, TiesGoToTheFirstAndTheSumIsSigned) {
  const auto dy = at::tensor({1.f, -5.f, 5.f, 0.5f}).view({1, 1, 2, 2});
  const auto [position, sum] = plane_peak(dy);
  EXPECT_EQ(position.item<int64_t>(), 1);
  EXPECT_FLOAT_EQ(sum.item<float>(), 1.5f);
}

TEST(PlanePeak, AllZeroAndAllEqualPlanesTakeTheFirstPosition) {
  for (const float value : {0.0f, -2.0f}) {
    for (int64_t channels : {1, 7, 8, 9, 33}) {
      const auto [position, sum] = plane_peak(at::full({2, channels, 3, 3}, value));
      EXPECT_EQ(position.abs().max().item<int64_t>(), 0);
      EXPECT_CLOSE(sum, at::full({2, channels, 1}, 9 * value));
    }
  }
}

TEST(PlanePeak, SimdAgreesWithTheReferenceAndWithArgmax) {
  for (int64_t channels : {1, 3, 4, 7, 8, 9, 16, 31, 32, 33, 64, 65, 100}) {
    for (int64_t side : {1, 2, 5}) {
      at::manual_seed(static_cast<uint64_t>(channels));
      const auto dy = at::randn({2, channels, side, side});
      const auto [position, sum] = plane_peak(dy);
      const auto [reference_position, reference_sum] = plane_peak(dy, Choosing::kReference);
      EXPECT_TRUE(at::equal(position, reference_position));
      EXPECT_CLOSE(sum, reference_sum);
      EXPECT_TRUE(at::equal(position.squeeze(-1).to(at::kLong), dy.flatten(2).abs().argmax(-1)));
      EXPECT_CLOSE(sum.squeeze(-1), dy.flatten(2).sum(-1));
    }
  }
}

TEST(PlaneMagnitude, EveryWayGivesTheSumOfTheDefinition) {
  for (int64_t channels : {1, 7, 16, 33, 64, 100, 128, 200}) {
    for (int64_t side : {1, 6}) {
      at::manual_seed(static_cast<uint64_t>(channels));
      const auto dy = at::randn({3, channels, side, side});
      const auto sum = plane_magnitude(dy);
      EXPECT_CLOSE(sum, dy.abs().sum({2, 3}, /*keepdim=*/true));
      EXPECT_CLOSE(sum, plane_magnitude(dy, Choosing::kReference));
      EXPECT_CLOSE(sum, plane_magnitude(dy, Choosing::kTensors));
    }
  }
  EXPECT_TRUE(plane_magnitude(at::full({1, 20, 2, 2}, std::numeric_limits<float>::quiet_NaN()))
                  .isnan()
                  .all()
                  .item<bool>());
}

// Odd counts, so that vectors have a rest; zeros of both signs, equal entries, denormals, what is
// no number.
at::Tensor difficult_gradient(int64_t n, int64_t channels, int64_t side) {
  auto dy = at::randn({n, channels, side, side}).contiguous(at::MemoryFormat::ChannelsLast);
  auto* numbers = dy.mutable_data_ptr<float>();
  const std::array special = {0.0f,
                              -0.0f,
                              1e-40f,
                              2.0f,
                              2.0f,
                              -2.0f,
                              std::numeric_limits<float>::infinity(),
                              std::numeric_limits<float>::quiet_NaN()};
  for (int64_t i = 0; i < dy.numel(); i += 5) {
    numbers[i] = special[static_cast<size_t>(i) % special.size()];
  }
  return dy;
}

void expect_same_bits(const PrunedDY& a, const PrunedDY& b) {
  EXPECT_TRUE(at::equal(a.dy.view(at::kInt), b.dy.view(at::kInt)));
  EXPECT_TRUE(at::equal(a.kept, b.kept));
}

TEST(Pruned, StochasticGivesTheSameBitsAsItsDefinition) {
  at::manual_seed(1);
  for (const int64_t side : {1, 7, 60}) {
    for (const int64_t channels : {1, 3, 64}) {
      const auto dy = difficult_gradient(2, channels, side);
      for (const float tau : {0.0f, 0.7f, 3.0f, std::numeric_limits<float>::infinity()}) {
        const Rng rng{.seed = 0x123456789ABCDEF, .layer = 3, .step = 0x123456789};
        const auto threshold = at::scalar_tensor(tau);
        expect_same_bits(stochastic_pruned(dy, threshold, rng),
                         stochastic_pruned(dy, threshold, rng, Choosing::kReference));
      }
    }
  }
}

TEST(Pruned, NOfMGivesTheSameBitsAsItsDefinition) {
  at::manual_seed(2);
  for (const int64_t m : {1, 2, 3, 4, 8, 16, 32}) {
    for (const int64_t channels : {m, 3 * m, 2 * m + 1, int64_t{96}}) {
      const auto dy = difficult_gradient(3, channels, 11);
      for (const int64_t n : {int64_t{1}, (m + 1) / 2, m}) {
        for (const bool random : {false, true}) {
          for (const bool rescale : {false, true}) {
            SCOPED_TRACE(testing::Message() << n << ":" << m << " of " << channels);
            const NmChoice choice{n, m, random, rescale};
            const Rng rng{.seed = 5, .layer = 1, .step = 7};
            const auto fast = nm_pruned(dy, choice, rng);
            const auto defined = nm_pruned(dy, choice, rng, Choosing::kReference);
            if (rescale) {  // what comes of two numbers that are none may be another one
              EXPECT_TRUE(at::equal(fast.dy.isnan(), defined.dy.isnan()));
              EXPECT_TRUE(at::equal(fast.dy.nan_to_num(), defined.dy.nan_to_num()));
              EXPECT_TRUE(at::equal(fast.kept, defined.kept));
            } else {
              expect_same_bits(fast, defined);
            }
          }
        }
      }
    }
  }
}

}  // namespace
}  // namespace approx
