#include "core/config/block_rates.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

namespace approx {
namespace {

using Rates = std::vector<int64_t>;

TEST(BlockRates, AreEqualWhereBlocksAreEqual) {
  for (const int64_t patterns : {1, 16, 32, 60, 63}) {
    EXPECT_EQ(rates_by_sensitivity({{2, 5}, {2, 5}, {2, 5}}, patterns), Rates(3, patterns));
    EXPECT_EQ(rates_by_sensitivity({{7, 3}}, patterns), Rates{patterns});
  }
  EXPECT_EQ(rates_by_sensitivity({}, 32), Rates());
}

// By hand: the costs of the next pattern are 1, 3 until the first block has three patterns.
TEST(BlockRates, GoToTheBlockThatCostsLeast) {
  EXPECT_EQ(rates_by_sensitivity({{1, 1}, {3, 1}}, 2), (Rates{3, 1}));
  EXPECT_EQ(rates_by_sensitivity({{3, 1}, {1, 1}}, 2), (Rates{1, 3}));
  EXPECT_EQ(rates_by_sensitivity({{0, 1}, {1, 1}}, 10), (Rates{20, 0})) << "it costs nothing";
  EXPECT_EQ(rates_by_sensitivity({{0, 1}, {1, 1}}, 32), (Rates{57, 7})) << "at most nine tenths";
  EXPECT_EQ(rates_by_sensitivity({{0, 1}, {1, 1}}, 60), (Rates{60, 60}));
}

// Whatever the blocks are: the mean rate is kept, and no pattern more than needed is taken.
TEST(BlockRates, KeepTheMeanByWork) {
  uint64_t state = 1;
  const auto draw = [&state](uint64_t below) {
    state = state * 6364136223846793005 + 1442695040888963407;
    return (state >> 33) % below;
  };
  for (int trial = 0; trial < 500; ++trial) {
    std::vector<BlockWorth> blocks(1 + draw(9));
    for (auto& block : blocks) {
      block = {std::exp(static_cast<double>(draw(1000)) / 100 - 5),
               1 + static_cast<int64_t>(draw(1000))};
    }
    const auto patterns = 1 + static_cast<int64_t>(draw(63));
    const auto rates = rates_by_sensitivity(blocks, patterns);
    int64_t wanted = 0, left_out = 0, largest = 0;
    for (size_t i = 0; i < blocks.size(); ++i) {
      wanted += patterns * blocks[i].work;
      left_out += rates[i] * blocks[i].work;
      largest = std::max(largest, blocks[i].work);
      EXPECT_GE(rates[i], 0);
      EXPECT_LE(rates[i], std::max<int64_t>(57, patterns));
      for (size_t j = 0; j < blocks.size(); ++j) {
        const bool is_cheaper = blocks[i].sensitivity < blocks[j].sensitivity;
        EXPECT_TRUE(!is_cheaper || rates[i] >= rates[j]);
      }
    }
    EXPECT_GE(left_out, wanted);
    EXPECT_LT(left_out, wanted + largest);
  }
}

}  // namespace
}  // namespace approx
