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

}  // namespace
}  // namespace approx
