// Draws by operations on tensors are those of the loops, bit for bit.
#include "kernels/draws.h"

#include "tests/testing.h"

namespace approx {
namespace {

const std::vector<Rng>& streams() {
  static const std::vector<Rng> all = {
      {},
      {.seed = 1, .layer = 2, .step = 9, .product = Product::kDataGradient},
      {.seed = ~0ull, .layer = 0xFFFF, .step = (1ull << 48) - 1, .stream = 0xFFF, .rank = 0xFFFF},
      {.seed = 0x299f31d0a4093822ull, .layer = 1 << 15, .step = 1ull << 32, .rank = 3}};
  return all;
}

TEST(Draws, WordsOnTensorsAreThoseOfPhilox) {
  for (const auto& rng : streams()) {
    for (const int64_t blocks : {0, 1, 3, 1000}) {
      const auto words = random_words(rng, blocks, at::kCPU);
      ASSERT_EQ(words.sizes(), (std::vector<int64_t>{blocks, 4}));
      const auto table = words.contiguous();
      const auto* word = table.const_data_ptr<int64_t>();
      for (int64_t i = 0; i < blocks; ++i) {
        const auto expected = rng.block(static_cast<uint32_t>(i));
        for (size_t j = 0; j < 4; ++j, ++word) ASSERT_EQ(*word, int64_t{expected[j]}) << i;
      }
    }
  }
}

// As a captured step has it: the number beside the address is that of the step of the capture.
TEST(Draws, OfAStepInMemoryAreThoseOfThatStep) {
  for (const auto& rng : streams()) {
    uint64_t now = 0;
    Rng captured = rng;
    captured.step = 12345;
    captured.step_at = &now;
    for (const uint64_t step : {rng.step, uint64_t{0}, rng.step ^ (uint64_t{1} << 40)}) {
      now = step;
      Rng plain = rng;
      plain.step = step;
      EXPECT_EQ(captured.block(7), plain.block(7));
      EXPECT_TRUE(at::equal(random_words(captured, 9, at::kCPU), random_words(plain, 9, at::kCPU)));
      EXPECT_TRUE(at::equal(uniform_draws(captured, {5, 7}, at::kCPU),
                            uniform_draws(plain, {5, 7}, at::kCPU)));
    }
  }
}

TEST(Draws, UniformOnTensorsIsThatOfTheLoop) {
  for (const auto& rng : streams()) {
    const auto loop = uniform_draws(rng, {3, 5, 2, 7}, at::kCPU);
    const auto tensors = as_uniform(random_words(rng, (loop.numel() + 3) / 4, at::kCPU));
    EXPECT_TRUE(at::equal(tensors.flatten().narrow(0, 0, loop.numel()), loop.flatten()));
  }
  const auto edges = as_uniform(at::tensor({int64_t{0}, int64_t{0xFFFFFFFF}}));
  EXPECT_EQ(edges[0].item<float>(), Rng::uniform(0));
  EXPECT_EQ(edges[1].item<float>(), Rng::uniform(~0u));
}

TEST(Draws, AmongFewCandidatesAreWhatTheyWere) {
  for (const auto& rng : streams()) {
    const auto few = draws_among(rng, kManyCandidates - 1, {3, 5, 7}, at::kCPU);
    EXPECT_TRUE(at::equal(few, uniform_draws(rng, {3, 5, 7}, at::kCPU)));
  }
}

TEST(Draws, AmongManyCandidatesOnTensorsAreThoseOfTheLoop) {
  for (const auto& rng : streams()) {
    for (const int64_t count : {0, 1, 2, 7, 1001}) {
      const auto loop = draws_among(rng, kManyCandidates, {count}, at::kCPU);
      const auto tensors = as_fine_uniform(random_words(rng, (count + 1) / 2, at::kCPU));
      EXPECT_EQ(loop.scalar_type(), at::kDouble);
      EXPECT_TRUE(at::equal(tensors.narrow(0, 0, count), loop));
    }
  }
  const auto edges = as_fine_uniform(
      at::tensor({int64_t{0}, int64_t{0}, int64_t{0xFFFFFFFF}, int64_t{0xFFFFFFFF}}));
  EXPECT_EQ(edges[0].item<double>(), 0x1p-53);
  EXPECT_EQ(edges[1].item<double>(), 1 - 0x1p-53);
}

// Ties are broken by the place of a candidate, which is no equal chance. Of 2^22 draws of 23 bits a
// fifth are ties; of 52 bits there is one in five hundred such sets.
TEST(Draws, AmongManyCandidatesHaveNoTies) {
  const int64_t n = int64_t{1} << 22;
  const auto sorted = std::get<0>(draws_among({.seed = 3}, n, {n}, at::kCPU).sort());
  EXPECT_EQ((sorted.slice(0, 1) == sorted.slice(0, 0, n - 1)).sum().item<int64_t>(), 0);
}

// k draws among n candidates, which are of three kinds in turn. By chi-square with two degrees of
// freedom at a level of 1e-6 (27.6): where one kind has 1.01 times its share and the others have
// less, k/2 * 0.01^2 is added to its mean, and at k = 1.5 million that is seen with a probability
// above 0.99. By 23 bits kinds had 1.04 of their share at the second n, 1.5 and 0 at the fourth.
TEST(Draws, ChooseAmongManyCandidatesWithEqualChances) {
  const int64_t k = 1'500'000;
  for (const int64_t n : {int64_t{3} << 13, int64_t{3} << 18, int64_t{3} << 20, int64_t{3} << 22,
                          (int64_t{1} << 24) - 1}) {
    ASSERT_EQ(n % 3, 0);
    const auto u = draws_among({.seed = 11}, n, {k}, at::kCPU).to(at::kDouble);
    const auto kind = (u * static_cast<double>(n)).floor().to(at::kLong).remainder(3);
    double chi_square = 0;
    for (int64_t i = 0; i < 3; ++i) {
      const double count = (kind == i).sum().item<double>(), expected = k / 3.0;
      chi_square += (count - expected) * (count - expected) / expected;
    }
    EXPECT_LT(chi_square, 27.6) << n;
  }
}

}  // namespace
}  // namespace approx
