#include "kernels/select/select.h"

#include <ATen/Parallel.h>

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

// Read as they lie, they are the numbers that a copy in float has.
TEST(PlanePeak, OfHalfPrecisionIsThatOfTheSameNumbersInFloat) {
  for (const auto type : {at::kBFloat16, at::kHalf}) {
    const auto dy = at::randn({2, 37, 5, 5}).to(type);
    for (const auto how : {Choosing::kFastest, Choosing::kReference}) {
      const auto [position, sum] = plane_peak(dy, how);
      const auto [wanted_position, wanted_sum] = plane_peak(dy.to(at::kFloat), how);
      EXPECT_TRUE(at::equal(position, wanted_position));
      EXPECT_TRUE(at::equal(sum, wanted_sum));
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

// Bit for bit: thresholds are made of it. As many planes as LibTorch would share among threads.
TEST(MeanMagnitude, IsTheSameOnAnyNumberOfThreads) {
  at::manual_seed(1);
  const auto dy = at::randn({128, 512, 2, 1});
  const int before = at::get_num_threads();
  std::vector<float> means;
  for (const int threads : {1, 2, 3}) {
    at::set_num_threads(threads);
    means.push_back(mean_magnitude(dy).item<float>());
  }
  at::set_num_threads(before);
  EXPECT_EQ(means, std::vector<float>(3, means[0]));
  EXPECT_NEAR(means[0], dy.to(at::kDouble).abs().mean().item<double>(), 1e-6);
}

TEST(Pruned, IsTheSameChoiceInSixteenBits) {
  at::manual_seed(31);
  const auto floats = at::randn({3, 24, 5, 6}).contiguous(at::MemoryFormat::ChannelsLast);
  const auto tau = at::scalar_tensor(1.0039F, at::kFloat);
  const Rng rng{7, 11};
  for (const auto precision : {at::kBFloat16, at::kHalf}) {
    const auto dy = floats.to(precision);
    const auto fast = stochastic_pruned(dy, tau, rng);
    const auto plain = stochastic_pruned(dy, tau, rng, Choosing::kTensors);
    EXPECT_EQ(fast.dy.scalar_type(), precision);
    EXPECT_TRUE(at::equal(fast.dy, plain.dy));
    EXPECT_TRUE(at::equal(fast.kept, plain.kept));
    EXPECT_TRUE(at::equal(fast.dy, stochastic_pruned(dy, tau, rng, Choosing::kReference).dy));
    EXPECT_TRUE(at::equal(fast.dy, stochastic_pruned_over(dy.clone(), tau, rng).dy));
    for (const auto& choice : {NmChoice{.n = 2, .m = 4},
                               {.n = 2, .m = 4, .random = true},
                               {.n = 3, .m = 8, .rescaling = Rescaling::kGroup}}) {
      const auto chosen = nm_pruned(dy, choice, rng);
      EXPECT_EQ(chosen.dy.scalar_type(), precision);
      for (const auto how : {Choosing::kReference, Choosing::kTensors}) {
        const auto same = nm_pruned(dy, choice, rng, how);
        EXPECT_TRUE(at::equal(chosen.dy, same.dy));
        EXPECT_TRUE(at::equal(chosen.kept, same.kept));
      }
    }
    // Sums of planes are added up in another order, so a product may be rounded to the next.
    const NmChoice by_plane{.n = 1, .m = 4, .rescaling = Rescaling::kPlane};
    EXPECT_TRUE(at::allclose(nm_pruned(dy, by_plane, rng).dy.to(at::kFloat),
                             nm_pruned(floats.to(precision).to(at::kFloat), by_plane, rng).dy,
                             /*rtol=*/precision == at::kHalf ? 1e-3 : 8e-3));
    EXPECT_CLOSE(plane_magnitude(dy), plane_magnitude(dy, Choosing::kTensors));
  }
}

TEST(SliceNorms, EveryWayGivesTheNormOfTheDefinition) {
  const std::vector<std::vector<int64_t>> sizes = {{1, 1, 1, 1},    {3, 7, 2, 2},   {2, 16, 5, 5},
                                                   {40, 33, 6, 1},  {5, 100, 1, 1}, {300, 64, 3, 3},
                                                   {9, 300, 16, 16}};
  for (const auto& size : sizes) {
    at::manual_seed(static_cast<uint64_t>(size[1]));
    for (const auto& [format, precision] :
         {std::pair{at::MemoryFormat::ChannelsLast, at::kFloat},
          std::pair{at::MemoryFormat::Contiguous, at::kFloat},
          std::pair{at::MemoryFormat::ChannelsLast, at::kBFloat16}}) {
      const auto tensor = at::randn(size).to(precision).contiguous(format);
      for (const int64_t dim : {0, 1}) {
        const auto norms = slice_norms(tensor, dim);
        EXPECT_EQ(norms.scalar_type(), at::kDouble);
        EXPECT_CLOSE(norms, tensor.to(at::kDouble).pow(2).sum({1 - dim, 2, 3}).sqrt());
        EXPECT_CLOSE(norms, slice_norms(tensor, dim, Choosing::kReference));
        EXPECT_CLOSE(norms, slice_norms(tensor, dim, Choosing::kTensors));
      }
    }
  }
}

// Whatever is no finite number must not vanish from the scores of what is sampled.
TEST(SliceNorms, AreNoNumberWhereASliceHoldsNone) {
  auto tensor = at::ones({3, 20, 4, 4});
  tensor[1][18][2][2] = std::numeric_limits<float>::quiet_NaN();
  tensor[2][3][0][0] = std::numeric_limits<float>::infinity();
  const auto channels = slice_norms(tensor, 1), examples = slice_norms(tensor, 0);
  EXPECT_TRUE(std::isnan(channels[18].item<double>()));
  EXPECT_TRUE(std::isinf(channels[3].item<double>()));
  EXPECT_EQ(at::isfinite(channels).sum().item<int64_t>(), 18);
  EXPECT_TRUE(std::isnan(examples[1].item<double>()));
  EXPECT_TRUE(std::isinf(examples[2].item<double>()));
}

TEST(SliceNorms, AreTheSameOnAnyNumberOfThreads) {
  const int before = at::get_num_threads();
  const auto tensor = at::randn({16, 48, 12, 12}).contiguous(at::MemoryFormat::ChannelsLast);
  std::vector<at::Tensor> norms;
  for (const int threads : {1, 2, 3}) {
    at::set_num_threads(threads);
    norms.push_back(at::stack({slice_norms(tensor, 1).sum(), slice_norms(tensor, 0).sum()}));
  }
  at::set_num_threads(before);
  EXPECT_TRUE(at::equal(norms[0], norms[1]));
  EXPECT_TRUE(at::equal(norms[0], norms[2]));
}

TEST(Largest, AreTheFirstOfEqualsAndEveryNaN) {
  const double none = std::numeric_limits<double>::quiet_NaN();
  const double infinite = std::numeric_limits<double>::infinity();
  const std::vector<std::vector<double>> scores = {
      {1}, {2, 2, 2, 2}, {1, 3, 2, 3, 0}, {0, none, 5, infinite, none, 5, -1}, {none, none, none}};
  for (const auto& one : scores) {
    const auto tensor = at::tensor(one, at::kDouble);
    for (int64_t k = 0; k <= tensor.numel(); ++k) {
      const auto index = largest(tensor, k);
      EXPECT_TRUE(at::equal(index, largest(tensor, k, Choosing::kTensors))) << k << index;
    }
  }
  at::manual_seed(5);
  const auto many = at::randint(0, 40, {333}).to(at::kDouble);
  for (const int64_t k : {0, 1, 100, 332, 333}) {
    EXPECT_TRUE(at::equal(largest(many, k), largest(many, k, Choosing::kTensors))) << k;
  }
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
  const auto bits = a.dy.scalar_type() == at::kFloat ? at::kInt : at::kShort;
  EXPECT_TRUE(at::equal(a.dy.view(bits), b.dy.view(bits)));
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

void expect_the_definitions_choice(const at::Tensor& dy, const NmChoice& choice) {
  SCOPED_TRACE(testing::Message() << choice.n << ":" << choice.m << " of " << dy.size(1) << ", "
                                  << dy.scalar_type());
  const Rng rng{.seed = 5, .layer = 1, .step = 7};
  const auto fast = nm_pruned(dy, choice, rng);
  const auto defined = nm_pruned(dy, choice, rng, Choosing::kReference);
  if (choice.rescaling == Rescaling::kGroup) {
    // What comes of two numbers that are none may be another one.
    EXPECT_TRUE(at::equal(fast.dy.isnan(), defined.dy.isnan()));
    EXPECT_TRUE(at::equal(fast.dy.nan_to_num(), defined.dy.nan_to_num()));
    EXPECT_TRUE(at::equal(fast.kept, defined.kept));
  } else {
    expect_same_bits(fast, defined);
  }
}

TEST(Pruned, NOfMGivesTheSameBitsAsItsDefinition) {
  at::manual_seed(2);
  for (const auto type : {at::kFloat, at::kBFloat16}) {
    for (const int64_t m : {1, 2, 3, 4, 8, 16, 32}) {
      for (const int64_t channels : {m, 3 * m, 2 * m + 1, int64_t{96}}) {
        const auto dy = difficult_gradient(3, channels, 11).to(type);
        for (const int64_t n : {int64_t{1}, (m + 1) / 2, std::max<int64_t>(1, m - 1), m}) {
          for (const bool random : {false, true}) {
            for (const auto rescaling : {Rescaling::kNone, Rescaling::kGroup}) {
              expect_the_definitions_choice(dy, {n, m, random, rescaling});
            }
          }
        }
      }
    }
  }
}

// A number so small that nothing in float makes up with it for what went stays as it is, and the
// zeros beside it stay zeros.
TEST(Pruned, NOfMMakesNoNanOfPlanesOfWhichNextToNothingStays) {
  constexpr float kLeast = std::numeric_limits<float>::denorm_min();
  auto dy = at::zeros({1, 32, 4, 4}).contiguous(at::MemoryFormat::ChannelsLast);
  dy.select(1, 0).select(1, 0).fill_(2);  // channel 0 stays here, channel 1 goes
  dy.select(1, 1).select(1, 0).fill_(1);
  dy.select(1, 1).select(1, 1).fill_(kLeast);  // and stays here
  for (const auto rescaling : {Rescaling::kPlane, Rescaling::kGroup}) {
    for (const int64_t m : {2, 4, 8, 16, 32}) {
      for (const auto how : {Choosing::kFastest, Choosing::kReference, Choosing::kTensors}) {
        SCOPED_TRACE(testing::Message() << "1:" << m << " by " << static_cast<int>(how));
        const auto pruned = nm_pruned(dy, {.n = 1, .m = m, .rescaling = rescaling}, Rng{}, how).dy;
        EXPECT_TRUE(pruned.isfinite().all().item<bool>());
        EXPECT_EQ(pruned[0][1][1][0].item<float>(), kLeast);
      }
    }
  }
}

// Image by image, all at once, and by tensors: what stays of every plane has the sum that it had.
TEST(Pruned, NOfMKeepsTheSumsOfPlanesHoweverItIsDone) {
  at::manual_seed(3);
  for (const int64_t channels : {2, 3, 8, 36, 64}) {
    for (const int64_t side : {1, 5, 8}) {
      const auto dy = at::randn({3, channels, side, side});
      for (const int64_t m : {2, 4}) {
        SCOPED_TRACE(testing::Message() << "1:" << m << " of " << channels << ", side " << side);
        const NmChoice choice{.n = 1, .m = m, .rescaling = Rescaling::kPlane};
        const auto fast = nm_pruned(dy, choice, Rng{});
        const auto sum = [](const at::Tensor& t) { return t.abs().sum({2, 3}); };
        const auto left = sum(fast.dy);
        EXPECT_CLOSE(left, at::where(left > 0, sum(dy), at::zeros_like(left)));
        for (const auto how : {Choosing::kReference, Choosing::kTensors}) {
          const auto other = nm_pruned(dy, choice, Rng{}, how);
          EXPECT_CLOSE(fast.dy, other.dy);
          EXPECT_EQ(fast.kept.item<int64_t>(), other.kept.item<int64_t>());
        }
      }
    }
  }
}

}  // namespace
}  // namespace approx
