#include "results/papers/line.h"

#include <gtest/gtest.h>

namespace approx {
namespace {

TEST(Footnotes, AreLetteredInTheOrderOfTheirFirstUse) {
  Footnotes footnotes;
  EXPECT_EQ(footnotes.letter("lossy data"), "a");
  EXPECT_EQ(footnotes.mark("few seeds"), " [b]");
  EXPECT_EQ(footnotes.mark("lossy data"), " [a]");
  EXPECT_EQ(footnotes.mark(""), "");
  EXPECT_EQ(footnotes.lines(), (std::vector<std::string>{"a: lossy data", "b: few seeds"}));
  for (int i = 2; i < 26; ++i) footnotes.letter(std::string(1, static_cast<char>('a' + i)));
  EXPECT_EQ(footnotes.letter("one more"), "aa");
  EXPECT_EQ(footnotes.letter("and another"), "ab");
}

}  // namespace
}  // namespace approx
