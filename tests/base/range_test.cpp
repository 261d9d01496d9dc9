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

using Texts = std::vector<std::string>;

TEST(RangeValues, AreTheDecimalNumbersThatAreMeant) {
  EXPECT_EQ(range_values("0.1-0.9+0.2"), (Texts{"0.1", "0.3", "0.5", "0.7", "0.9"}));
  EXPECT_EQ(range_values("32-256*2"), (Texts{"32", "64", "128", "256"}));
  EXPECT_EQ(range_values("1e-05-1e-02*10"), (Texts{"1e-05", "0.0001", "0.001", "0.01"}));
  EXPECT_EQ(range_values("0.1-0.5*1.5"), (Texts{"0.1", "0.15", "0.225", "0.3375"}));
  EXPECT_EQ(range_values("-0.2-0.2+0.2"), (Texts{"-0.2", "0", "0.2"}));
  EXPECT_EQ(range_values("-3--1"), (Texts{"-3", "-2", "-1"}));
  EXPECT_EQ(range_values("5-5"), (Texts{"5"}));
  EXPECT_EQ(range_values("0.5-2"), (Texts{"0.5", "1.5"}));
  EXPECT_EQ(list_values("7, 0.5-0.7+0.1,abc"), (Texts{"7", "0.5", "0.6", "0.7", "abc"}));
}

TEST(RangeValues, LeaveOtherTextsAsTheyAre) {
  for (const char* text :
       {"", "1", "-1", "1e-05", "1E-05", "-1e-3", "1-", "-", "a-b", "1-b", "1-2+", "1-2-3",
        "1-2+3+4", "1-2/3", ".5-1", "0x1-2", "equal", "1..2-3", "2024-05-27T"}) {
    EXPECT_EQ(range_values(text), Texts{text});
  }
}

// Whole hundredths, in plain loops, and each written by hand.
TEST(RangeValues, AgreeWithWholeHundredths) {
  std::mt19937 rng(8);
  const auto pick = [&rng](int64_t low, int64_t high) {
    return std::uniform_int_distribution<int64_t>(low, high)(rng);
  };
  const auto text = [](int64_t hundredths) {
    return fmt::format("{}.{:02}", hundredths / 100, hundredths % 100);
  };
  for (int trial = 0; trial < 3000; ++trial) {
    const int64_t first = pick(1, 400), last = first + pick(0, 900), step = pick(1, 70);
    const int64_t factor = pick(2, 5);
    std::vector<double> sums, products;
    for (int64_t v = first; v <= last; v += step) sums.push_back(std::stod(text(v)));
    for (int64_t v = first; v <= last; v *= factor) products.push_back(std::stod(text(v)));
    const auto numbers = [](const Texts& texts) {
      std::vector<double> values;
      for (const auto& value : texts) values.push_back(std::stod(value));
      return values;
    };
    const auto range = fmt::format("{}-{}", text(first), text(last));
    if (sums.size() <= kMaxRangeValues) {
      EXPECT_EQ(numbers(range_values(range + "+" + text(step))), sums) << range;
    }
    EXPECT_EQ(numbers(range_values(fmt::format("{}*{}", range, factor))), products) << range;
  }
}

TEST(RangeValues, RefuseWhatHasNoEndOrTooMany) {
  const auto message = [](const char* text) {
    try {
      range_values(text);
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::kUsage);
      return std::string(error.what());
    }
    return std::string("none");
  };
  EXPECT_EQ(message("0.9-0.1"), "\"0.9-0.1\": 0.9 lies above 0.1");
  EXPECT_EQ(message("2-1*2"), "\"2-1*2\": 2 lies above 1");
  EXPECT_EQ(message("1-2+0"), "\"1-2+0\": a step is above 0, a factor above 1");
  EXPECT_EQ(message("1-2*1"), "\"1-2*1\": a step is above 0, a factor above 1");
  EXPECT_EQ(message("1-2*0.5"), "\"1-2*0.5\": a step is above 0, a factor above 1");
  EXPECT_EQ(message("0-2*2"), "\"0-2*2\": a range with a factor begins above 0");
  EXPECT_EQ(message("0-1000"), "\"0-1000\": more than 1000 values");
  EXPECT_EQ(message("0-1+1e-300"),
            "\"0-1+1e-300\": a range of numbers with more than 18 digits; write out its values");
  EXPECT_EQ(message("1-2+1e-999"),
            "\"1-2+1e-999\": a range of numbers with more than 18 digits; write out its values");
  EXPECT_EQ(
      message("1-9*1.123456789"),
      "\"1-9*1.123456789\": a range of numbers with more than 18 digits; write out its values");
  EXPECT_EQ(range_values("7-900000000000000000*999999999999").size(), 2u);
  EXPECT_EQ(range_values("1-1000").size(), 1000u);
  EXPECT_EQ(range_values("999999999999999998-999999999999999999").size(), 2u);
}

}  // namespace
}  // namespace approx
