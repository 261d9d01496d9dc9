#include "base/range.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

#include "base/error.h"

namespace approx {
namespace {

TEST(RangeText, IsReadBackAsTheSameNumbers) {
  EXPECT_EQ(range_text({}), "");
  EXPECT_EQ(range_text({7}), "7");
  EXPECT_EQ(range_text({3, 1, 2, 0, 2}), "0-3");
  EXPECT_EQ(range_text({9, 1, 2, 5, 8}), "1-2,5,8-9");
  EXPECT_EQ(parse_range(range_text({10, 12, 13})), (std::vector<int64_t>{10, 12, 13}));
}

TEST(ParseRange, AgreesWithANaiveExpander) {
  EXPECT_EQ(parse_range("3"), (std::vector<int64_t>{3}));
  EXPECT_EQ(parse_range("1, 5,0-2"), (std::vector<int64_t>{1, 5, 0, 1, 2}));
  EXPECT_EQ(parse_range("1-100*10"), (std::vector<int64_t>{1, 10, 100}));
  EXPECT_EQ(parse_range("9223372036854775806-9223372036854775807").size(), 2u);
  EXPECT_EQ(parse_range("1-9223372036854775807*2").size(), 63u);
  std::mt19937 rng(4);
  const auto pick = [&rng](int64_t low, int64_t high) {
    return std::uniform_int_distribution<int64_t>(low, high)(rng);
  };
  for (int trial = 0; trial < 3000; ++trial) {
    std::string text;
    std::vector<int64_t> expected;
    for (int64_t pieces = pick(1, 4); pieces > 0; --pieces) {
      const int64_t first = pick(1, 30), last = first + pick(0, 300), change = pick(2, 9);
      if (!text.empty()) text += ',';
      switch (pick(0, 3)) {
        case 0:
          text += fmt::format("{}", first);
          expected.push_back(first);
          break;
        case 1:
          text += fmt::format("{}-{}", first, last);
          for (int64_t v = first; v <= last; ++v) expected.push_back(v);
          break;
        case 2:
          text += fmt::format("{}-{}+{}", first, last, change);
          for (int64_t v = first; v <= last; v += change) expected.push_back(v);
          break;
        default:
          text += fmt::format("{}-{}*{}", first, last, change);
          for (int64_t v = first; v <= last; v *= change) expected.push_back(v);
      }
    }
    EXPECT_EQ(parse_range(text), expected) << text;
  }
}

TEST(ParseRange, RefusesWhatIsNone) {
  for (const char* text : {"",
                           ",",
                           "1,",
                           "a",
                           "-1",
                           "1-",
                           "-",
                           "3-1",
                           "0-9+0",
                           "0-9*1",
                           "0-9*2",
                           "1-9*0",
                           "1-9+",
                           "1+2",
                           "1*2",
                           "1-2-3",
                           "1.5",
                           "0-99999999999",
                           "99999999999999999999",
                           "1-9+2+2",
                           "0x3"}) {
    EXPECT_THROW(parse_range(text), Error) << text;
  }
}

}  // namespace
}  // namespace approx
