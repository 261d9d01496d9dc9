#include "results/render/table_parts.h"

#include <gtest/gtest.h>

namespace approx {
namespace {

using Texts = std::vector<std::string>;

ShownTable shown_table(Texts headers) {
  ShownTable shown;
  shown.shared = {{"data set", "cifar10"}};
  Texts row;
  for (const auto& header : headers) row.push_back("cell of " + header);
  shown.names = headers;
  shown.text = {.columns = std::move(headers), .rows = {row, row}};
  return shown;
}

const Texts kHeaders = {"network", "exact: accuracy, %", "exact: density", "p: 90: accuracy, %",
                        "p: 90: density"};

TEST(TablePartsTest, SplitsByTheEndsOfHeaders) {
  ShownTable shown = shown_table(kHeaders);
  shown.text.starred = {0, 2};
  const auto parts = table_parts(shown, 4);
  ASSERT_EQ(parts.size(), 2U);
  EXPECT_EQ(parts[0].name, "accuracy, %");
  EXPECT_EQ(parts[1].name, "density");
  for (const auto& part : parts) {
    EXPECT_EQ(part.shown.text.columns, (Texts{"network", "exact", "p: 90"}));
    EXPECT_EQ(part.shown.shared, shown.shared);
    ASSERT_EQ(part.shown.text.rows.size(), 2U);
  }
  EXPECT_EQ(parts[1].shown.text.rows[1],
            (Texts{"cell of network", "cell of exact: density", "cell of p: 90: density"}));
  EXPECT_EQ(parts[0].shown.names, (Texts{"network", "exact: accuracy, %", "p: 90: accuracy, %"}));
  EXPECT_EQ(parts[0].shown.text.starred, (std::set<size_t>{0}));
  EXPECT_EQ(parts[1].shown.text.starred, (std::set<size_t>{0, 1}));
}

TEST(TablePartsTest, KeepsTheOrderOfFirstColumnsAndEveryColumn) {
  const auto parts = table_parts(shown_table({"a: x", "b: y", "c: x", "d: z", "e: y"}), 2);
  ASSERT_EQ(parts.size(), 3U);
  EXPECT_EQ(parts[0].shown.text.columns, (Texts{"a", "c"}));
  EXPECT_EQ(parts[1].shown.text.columns, (Texts{"b", "e"}));
  EXPECT_EQ(parts[2].shown.text.columns, (Texts{"d"}));
}

TEST(TablePartsTest, OtherTablesStayWhole) {
  const auto whole = [](Texts headers, size_t most) {
    const ShownTable shown = shown_table(std::move(headers));
    const auto parts = table_parts(shown, most);
    return parts.size() == 1 && parts[0].name.empty() &&
           parts[0].shown.text.columns == shown.text.columns &&
           parts[0].shown.text.rows == shown.text.rows;
  };
  EXPECT_TRUE(whole(kHeaders, 5)) << "narrow enough";
  EXPECT_FALSE(whole(kHeaders, 4));
  EXPECT_TRUE(whole({"network", "a: x", "loss", "b: x"}, 1)) << "a header without an end";
  EXPECT_TRUE(whole({"network", "a: x", "b: y", "c: z"}, 1)) << "a column each";
  EXPECT_TRUE(whole({"network", "loss"}, 1));
  EXPECT_TRUE(whole({}, 0));
}

}  // namespace
}  // namespace approx
