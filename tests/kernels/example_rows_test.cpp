// Whole examples taken from a tensor and put back, in every layout and precision.
#include "kernels/example_rows.h"

#include <ATen/Parallel.h>

#include <cmath>

#include "tests/testing.h"

namespace approx {
namespace {

const std::vector<std::vector<int64_t>> kMaps = {
    {1, 1, 1, 1}, {5, 3, 4, 2}, {9, 17, 1, 1}, {40, 33, 7, 5}, {6, 1, 8, 8}};

std::vector<at::Tensor> indices_below(int64_t examples) {
  return {at::arange(examples), at::arange(0, examples, 2), at::tensor({examples - 1}, at::kLong),
          at::empty({0}, at::kLong)};
}

TEST(ExampleRows, AreThoseOfAnIndexAndComeBackAmongZeros) {
  for (const auto type : {at::kFloat, at::kBFloat16, at::kHalf, at::kDouble}) {
    for (const auto format : {at::MemoryFormat::ChannelsLast, at::MemoryFormat::Contiguous}) {
      for (const auto& sizes : kMaps) {
        SCOPED_TRACE(fmt::format("{} of {} examples, format {}", toString(type), sizes[0],
                                 static_cast<int>(format)));
        at::manual_seed(3);
        const auto whole = at::randn(sizes).to(type).contiguous(format);
        for (const auto& index : indices_below(sizes[0])) {
          const auto part = take_examples(whole, index);
          EXPECT_TRUE(part.is_contiguous(at::MemoryFormat::ChannelsLast));
          EXPECT_TRUE(at::equal(part, whole.index_select(0, index)));
          const auto back = put_examples(part, index, sizes[0]);
          EXPECT_TRUE(back.is_contiguous(at::MemoryFormat::ChannelsLast));
          auto wanted = at::zeros(sizes, whole.options());
          wanted.index_copy_(0, index, whole.index_select(0, index));
          EXPECT_TRUE(at::equal(back, wanted));
        }
      }
    }
  }
}

// A tensor or an index that is a view gives the same rows as a copy of it.
TEST(ExampleRows, OfAPartOfATensor) {
  const auto all = at::randn({8, 6, 5, 5}).contiguous(at::MemoryFormat::ChannelsLast);
  const auto index = at::tensor({0, 3}, at::kLong);
  const auto part = all.narrow(0, 2, 5);
  EXPECT_TRUE(at::equal(take_examples(part, index), part.index_select(0, index)));
  EXPECT_TRUE(at::equal(take_examples(all.narrow(1, 1, 3), index),
                        all.narrow(1, 1, 3).index_select(0, index)));
  // An index of every second place.
  const auto spread = at::tensor({1, 9, 4, 9, 6}, at::kLong).slice(0, 0, c10::nullopt, 2);
  EXPECT_TRUE(at::equal(take_examples(all, spread), all.index_select(0, spread)));
}

// Zeros of either sign are no numbers; the smallest number and a NaN are, wherever they stand.
TEST(ExampleRows, FindsTheExamplesThatHaveANumber) {
  for (const auto type : {at::kFloat, at::kBFloat16, at::kHalf, at::kDouble}) {
    for (const auto format : {at::MemoryFormat::ChannelsLast, at::MemoryFormat::Contiguous}) {
      for (const int64_t side : {1, 3, 20}) {
        SCOPED_TRACE(fmt::format("{}, side {}", toString(type), side));
        auto map = at::zeros({7, 5, side, side}, type).contiguous(format);
        map[1].fill_(-0.0);
        map[2][4][side - 1][side - 1].fill_(NAN);
        map[3][0][0][0].fill_(type == at::kFloat ? 1e-45 : 1e-7);
        map[5].fill_(2);
        EXPECT_TRUE(at::equal(nonzero_examples(map), at::tensor({2, 3, 5}, at::kLong)));
      }
    }
  }
  EXPECT_EQ(nonzero_examples(at::zeros({3, 2, 2, 2})).numel(), 0);
}

TEST(ExampleRows, ThreadsDoNotMatterToThem) {
  const auto map = at::randn({64, 64, 16, 16}).contiguous(at::MemoryFormat::ChannelsLast);
  const auto index = at::arange(0, 64, 3);
  const auto threads = at::get_num_threads();
  const auto all = put_examples(take_examples(map, index), index, 64);
  at::set_num_threads(1);
  const auto alone = put_examples(take_examples(map, index), index, 64);
  at::set_num_threads(threads);
  EXPECT_TRUE(at::equal(all, alone));
}

}  // namespace
}  // namespace approx
