#include "kernels/rng.h"

#include <gtest/gtest.h>

#include <set>

namespace approx {
namespace {

using Block = std::array<uint32_t, 4>;

// The known-answer vectors of Philox4x32-10 that its authors publish with Random123.
TEST(Philox, MatchesThePublishedVectors) {
  EXPECT_EQ(Philox::block({0, 0, 0, 0}, 0),
            (Block{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  EXPECT_EQ(Philox::block({~0u, ~0u, ~0u, ~0u}, ~0ull),
            (Block{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
  EXPECT_EQ(Philox::block({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, 0x299f31d0a4093822ull),
            (Block{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

TEST(Rng, EveryUseHasItsOwnStream) {
  std::set<Block> counters;
  for (uint32_t layer : {0u, 1u, 65535u}) {
    for (uint64_t step : {0ull, 1ull, 1ull << 32}) {
      for (const auto product : kAllProducts) {
        for (uint32_t stream : {0u, 1u, 4095u}) {
          counters.insert(Rng{5, layer, step, product, stream}.counter(0));
        }
      }
    }
  }
  EXPECT_EQ(counters.size(), 3u * 3 * 3 * 3);
}

TEST(Rng, OfRankZeroIsThatOfAProcessAlone) {
  // Recorded before there were ranks.
  const Rng rng{.seed = 3, .layer = 2, .step = 9};
  EXPECT_EQ(rng.block(0), (Block{0xf00db9ea, 0x185f08c5, 0x35eda391, 0x741c7e1b}));
  const Rng late{.seed = 3, .layer = 2, .step = (7ull << 32) | 9};
  EXPECT_EQ(late.block(5), (Block{0xf6ad3f85, 0xb33a8484, 0xe6325577, 0xee048541}));
}

TEST(Rng, RanksDrawForThemselvesUnlessTheyShare) {
  std::set<Block> counters;
  for (uint32_t rank : {0u, 1u, 65535u}) {
    for (uint64_t step : {0ull, 1ull, 1ull << 32, (1ull << 48) - 1}) {
      const Rng rng{.step = step, .rank = rank};
      counters.insert(rng.counter(0));
      EXPECT_EQ(rng.shared().counter(0), Rng{.step = step}.counter(0));
    }
  }
  EXPECT_EQ(counters.size(), 3u * 4);
}

TEST(Rng, UniformStaysInsideTheOpenInterval) {
  EXPECT_GT(Rng::uniform(0), 0.0f);
  EXPECT_LT(Rng::uniform(~0u), 1.0f);
  EXPECT_EQ(Rng::below(10, ~0u), 9u);
  EXPECT_EQ(Rng::below(10, 0), 0u);
}

}  // namespace
}  // namespace approx
