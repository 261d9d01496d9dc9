#include "kernels/sampled/channels.h"

#include <c10/util/BFloat16.h>

#include <bit>
#include <cmath>
#include <limits>
#include <vector>

#include "tests/testing.h"

namespace approx {
namespace {

constexpr float kUntouched = -77;

// Every `step`-th channel from `first` on, and the last.
std::vector<int64_t> some_channels(int64_t channels, int64_t first, int64_t step) {
  std::vector<int64_t> index;
  for (int64_t c = first; c < channels - 1; c += step) index.push_back(c);
  index.push_back(channels - 1);
  return index;
}

// With a NaN and an infinity among them, which must neither vanish nor spread.
std::vector<float> numbers(int64_t count) {
  std::vector<float> values(static_cast<size_t>(count));
  for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i % 1013) - 300.5F;
  if (count > 5) values[5] = std::numeric_limits<float>::infinity();
  if (count > 9) values[9] = std::numeric_limits<float>::quiet_NaN();
  return values;
}

bool same(const std::vector<float>& a, const std::vector<float>& b) {
  for (size_t i = 0; i < a.size(); ++i) {
    if (a[i] != b[i] && !(std::isnan(a[i]) && std::isnan(b[i]))) return false;
  }
  return a.size() == b.size();
}

struct ChannelsCase {
  int64_t channels, rows;
  std::vector<int64_t> index;
  std::vector<float> factor;

  ChannelPart part() const {
    return {channels, static_cast<int64_t>(index.size()), index.data(),
            factor.empty() ? nullptr : factor.data()};
  }
};

std::vector<ChannelsCase> channels_cases() {
  std::vector<ChannelsCase> cases;
  for (const int64_t channels : {1, 3, 7, 8, 9, 16, 17, 31, 48, 64, 100}) {
    for (const int64_t step : {1, 2, 3, 40}) {
      for (const bool scaled : {false, true}) {
        ChannelsCase one{channels, 21, some_channels(channels, step / 2, step), {}};
        for (size_t i = 0; scaled && i < one.index.size(); ++i) {
          one.factor.push_back(0.5F + static_cast<float>(i));
        }
        cases.push_back(one);
      }
    }
  }
  return cases;
}

// In two ranges, as threads do it: neither may write into the other's rows, done before or after.
TEST(Channels, AreTakenAndPutAsTheDefinitionsSay) {
  for (const auto& one : channels_cases()) {
    const auto which = one.part();
    const auto whole = numbers(one.rows * one.channels);
    const auto part = numbers(one.rows * which.kept);
    for (const int64_t split : {0, 1, 13, 20}) {
      std::vector<float> taken(part.size(), kUntouched), expected = taken;
      take_channels_simd(which, whole.data(), taken.data(), split, one.rows);
      for (int64_t i = 0; i < split * which.kept; ++i) {
        ASSERT_EQ(taken[static_cast<size_t>(i)], kUntouched);
      }
      take_channels_simd(which, whole.data(), taken.data(), 0, split);
      take_channels_reference(which, whole.data(), expected.data(), 0, one.rows);
      ASSERT_TRUE(same(taken, expected)) << one.channels << " channels, " << which.kept << " kept";

      std::vector<float> put(whole.size(), kUntouched), spread = put;
      put_channels_simd(which, part.data(), put.data(), split, one.rows);
      for (int64_t i = 0; i < split * one.channels; ++i) {
        ASSERT_EQ(put[static_cast<size_t>(i)], kUntouched);
      }
      put_channels_simd(which, part.data(), put.data(), 0, split);
      put_channels_reference(which, part.data(), spread.data(), 0, one.rows);
      ASSERT_TRUE(same(put, spread)) << one.channels << " channels, " << which.kept << " kept";
    }
  }
}

// What LibTorch's conversion gives, ties, infinities and what is no number included.
TEST(BFloat16, RoundsAsLibTorchDoes) {
  for (const float value :
       {0.0F, -0.0F, 1.0F, 1.00390625F, 1.01171875F, 3.3895314e38F, 3.4e38F, 1e-40F,
        std::numeric_limits<float>::infinity(), -std::numeric_limits<float>::quiet_NaN()}) {
    EXPECT_EQ(BFloat16(value).bits, c10::BFloat16(value).x) << value;
    const auto back = static_cast<float>(BFloat16(value));
    EXPECT_EQ(std::bit_cast<uint32_t>(back), uint32_t{c10::BFloat16(value).x} << 16) << value;
  }
}

TEST(Channels, NoneKeptIsNothingTakenAndZerosPut) {
  const ChannelPart none{20, 0, nullptr, nullptr};
  std::vector<float> whole(60, kUntouched);
  take_channels_simd(none, whole.data(), nullptr, 0, 3);
  put_channels_simd(none, nullptr, whole.data(), 0, 3);
  EXPECT_EQ(whole, std::vector<float>(60, 0.0F));
}

}  // namespace
}  // namespace approx
