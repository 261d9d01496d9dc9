#include "base/text.h"

#include <gtest/gtest.h>

namespace approx {
namespace {

TEST(Trim, TakesBlanksAndTabsAwayFromTheEndsAlone) {
  EXPECT_EQ(trim(" \ta b\t "), "a b");
  EXPECT_EQ(trim("a\n"), "a\n");
  EXPECT_EQ(trim(" \t"), "");
  EXPECT_EQ(trim(""), "");
}

TEST(FirstLine, EndsBeforeTheFirstFeed) {
  EXPECT_EQ(first_line("a b\nc\nd"), "a b");
  EXPECT_EQ(first_line("a b"), "a b");
  EXPECT_EQ(first_line("\na"), "");
  EXPECT_EQ(first_line(""), "");
}

TEST(Split, KeepsEveryPiece) {
  using Pieces = std::vector<std::string_view>;
  EXPECT_EQ(split("", ","), Pieces{""});
  EXPECT_EQ(split("a", ","), Pieces{"a"});
  EXPECT_EQ(split(",", ","), (Pieces{"", ""}));
  EXPECT_EQ(split("a,, b+c", ","), (Pieces{"a", "", " b+c"}));
  EXPECT_EQ(split("a,b+c", ",+"), (Pieces{"a", "b", "c"}));
}

}  // namespace
}  // namespace approx
