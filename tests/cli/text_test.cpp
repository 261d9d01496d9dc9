#include "cli/text.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "results/render/text_table.h"

namespace approx {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;

TEST(Duration, ReadsEveryUnit) {
  EXPECT_EQ(parse_duration("90", "--timeout"), seconds(90));
  EXPECT_EQ(parse_duration("90s", "--timeout"), seconds(90));
  EXPECT_EQ(parse_duration("250ms", "--timeout"), milliseconds(250));
  EXPECT_EQ(parse_duration("30m", "--timeout"), minutes(30));
  EXPECT_EQ(parse_duration("1.5h", "--timeout"), minutes(90));
  EXPECT_EQ(parse_duration("2d", "--timeout"), hours(48));
  EXPECT_EQ(parse_duration("0", "--timeout"), seconds(0));
}

TEST(Duration, RefusesEverythingElse) {
  for (const char* text : {"", "s", "-1s", "1,5h", "nan", "inf", "1e9d", "99999999999999999999",
                           "5 s", "5x", "0x10", "1h30m", "11d ", "10000d"}) {
    EXPECT_THROW(parse_duration(text, "--timeout"), Error) << text;
  }
}

TEST(Duration, IsWrittenInTwoUnitsAtMost) {
  EXPECT_EQ(format_duration(milliseconds(850)), "850 ms");
  EXPECT_EQ(format_duration(milliseconds(12'340)), "12.3 s");
  EXPECT_EQ(format_duration(milliseconds(59'960)), "1 min 00 s");
  EXPECT_EQ(format_duration(seconds(245)), "4 min 05 s");
  EXPECT_EQ(format_duration(minutes(187)), "3 h 07 min");
}

TEST(Printable, KeepsUtf8AndEscapesTheRest) {
  EXPECT_EQ(printable("plain ✓ ≈ 🙂"), "plain ✓ ≈ 🙂");
  EXPECT_EQ(printable(std::string_view("a\0b\n\x1b[31m\x7f", 10)), "a\\x00b\\x0a\\x1b[31m\\x7f");
  EXPECT_EQ(printable("\xff\xc3("), "\\xff\\xc3(");
  EXPECT_EQ(printable("\xc0\xaf"), "\\xc0\\xaf");                    // overlong
  EXPECT_EQ(printable("\xed\xa0\x80"), "\\xed\\xa0\\x80");           // a surrogate
  EXPECT_EQ(printable("\xf4\x90\x80\x80"), "\\xf4\\x90\\x80\\x80");  // beyond U+10FFFF
  EXPECT_EQ(printable("\xe2\x82"), "\\xe2\\x82");                    // cut off
}

TEST(SplitList, CutsSpaceAndEmptyParts) {
  EXPECT_EQ(split_list(" a, b ,,c "), (std::vector<std::string>{"a", "b", "c"}));
  EXPECT_TRUE(split_list("").empty());
  EXPECT_TRUE(split_list(" , ,").empty());
}

TEST(Tables, MarkdownAlignsAndCsvQuotes) {
  EXPECT_EQ(markdown_table({"name", "n"}, {{"≈", "1"}, {"longer", "-20"}}),
            "| name   |   n |\n|--------|----:|\n| ≈      |   1 |\n| longer | -20 |\n");
  EXPECT_EQ(markdown_table({"a|b"}, {{"c | d"}, {"e\nf\x1b"}}),
            "| a\\|b    |\n|---------|\n| c \\| d  |\n| e f\\x1b |\n");
  EXPECT_EQ(csv_table({"a", "b"}, {{"1,2", "say \"x\""}}), "a,b\n\"1,2\",\"say \"\"x\"\"\"\n");
}

TEST(Size, IsReadInPowersOf1024) {
  EXPECT_EQ(parse_size("512M", "--memory"), int64_t{512} << 20);
  EXPECT_EQ(parse_size("4G", "--memory"), int64_t{4} << 30);
  EXPECT_EQ(parse_size("1.5GiB", "--memory"), int64_t{3} << 29);
  for (const char* wrong : {"", "4", "G", "-1G", "0G", "4 G", "4X", "9999999999T", "4GB"}) {
    EXPECT_THROW(parse_size(wrong, "--memory"), Error) << wrong;
  }
  EXPECT_EQ(format_size(0), "0 KiB");
  EXPECT_EQ(format_size(1), "1 KiB");
  EXPECT_EQ(format_size(16 << 10), "16 KiB");
  EXPECT_EQ(format_size(int64_t{512} << 20), "512 MiB");
  EXPECT_EQ(format_size(int64_t{3} << 29), "1.5 GiB");
}

}  // namespace
}  // namespace approx
