#include "results/render/screen.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "base/error.h"
#include "results/render/text_table.h"

namespace approx {
namespace {

// As the comparison of a few methods on one network.
Table comparison() {
  Table table{.title = "quickstart"};
  table.columns = {"network", "method", "seed_count", "accuracy_pct", "loss_pp_half", "speedup"};
  table.text_columns = {"network", "method", "n", "accuracy %", "speedup vs exact", "*estimated*"};
  table.text_names = {"network", "method", "seed_count", "accuracy_pct", "speedup", ""};
  table.starred = {5};
  table.rows = {{"small_cnn", "dense", int64_t{6}, 97.32, Field(), 1.0},
                {"small_cnn", "zero", int64_t{6}, 95.07, 0.49, 1.22}};
  table.text_rows = {
      {"small_cnn", "dense", "6", "97.32 ± 0.36", "–", "–"},
      {"small_cnn", "zero [a]", "6", "95.07 ± 0.53", "1.22× [1.21, 1.22]", "*1.31×*"}};
  table.notes = {
      "a: fewer than 7 seeds, so that no p of this table can be below 0.05, whatever "
      "the losses are"};
  table.screen = {.keys = {"network"},
                  .results = {"method", "accuracy_pct", "speedup"},
                  .headline = "1 method: not worth it, it loses too much."};
  return table;
}

size_t widest(const std::string& text) {
  size_t most = 0;
  std::string_view left = text;
  while (!left.empty()) {
    const auto line = left.substr(0, left.find('\n'));
    most = std::max(most, terminal_columns(line));
    left.remove_prefix(std::min(line.size() + 1, left.size()));
  }
  return most;
}

TEST(ScreenTest, AComparison) {
  EXPECT_EQ(screen(comparison(), {.width = 80, .can_choose = true}, "approxtrain report advice"),
            R"(quickstart

1 method: not worth it, it loses too much.

network small_cnn

method      accuracy %    speedup vs exact
────────  ────────────  ──────────────────
dense     97.32 ± 0.36                   –
zero [a]  95.07 ± 0.53  1.22× [1.21, 1.22]

- a: fewer than 7 seeds, so that no p of this table can be below 0.05, whatever
  the losses are

2 more columns: --wide shows all, --columns NAME,... some

Next: approxtrain report advice
)");
}

TEST(ScreenTest, AllColumns) {
  const std::string all = screen(comparison(), {.width = 120, .all = true, .can_choose = true});
  EXPECT_NE(all.find("network small_cnn · n 6\n"), std::string::npos) << all;
  EXPECT_NE(all.find("method      accuracy %    speedup vs exact  estimated\n"), std::string::npos)
      << all;
  EXPECT_EQ(all.find("more column"), std::string::npos);
  EXPECT_EQ(all.find("Next:"), std::string::npos);
}

TEST(ScreenTest, KeysAreColumnsWhereRowsDiffer) {
  Table table = comparison();
  table.text_rows[1][0] = "resnet20";
  const std::string text = screen(table, {.width = 80});
  EXPECT_NE(text.find("network    method  "), std::string::npos) << text;
  EXPECT_EQ(text.find("network small_cnn"), std::string::npos) << text;
  EXPECT_EQ(text.find("more column"), std::string::npos) << "this command has no --wide";
  // Exact training has no schedule: that alone makes no column.
  table.text_rows[1][0] = "";
  EXPECT_NE(screen(table, {.width = 80}).find("network small_cnn\n"), std::string::npos);
}

TEST(ScreenTest, ChosenColumns) {
  const std::string text =
      screen(comparison(), {.width = 80, .columns = {"speedup", "method", "loss_pp_half"}});
  EXPECT_NE(text.find("network small_cnn\n"), std::string::npos) << text;
  EXPECT_NE(text.find("  speedup vs exact  method    loss_pp_half\n"), std::string::npos) << text;
  EXPECT_NE(text.find("1.22× [1.21, 1.22]  zero [a]          0.49\n"), std::string::npos) << text;
}

// Texts are wrapped inside their columns, and a row begins where its first cell stands.
TEST(ScreenTest, CellsAreWrapped) {
  Table table;
  table.text_columns = {"what", "found", "what to do"};
  table.text_rows = {{"clock", "frequencies between 1.2 and 3.4 GHz", ""},
                     {"cores", "2", "take more than two where a timing must be alone"}};
  EXPECT_EQ(screen(table, {.width = 40}), R"(what   found            what to do
─────  ───────────────  ────────────────
clock  frequencies
       between 1.2 and
       3.4 GHz

cores  2                take more than
                        two where a
                        timing must be
                        alone
)");
}

// Numbers stay on one line as long as words fit beside them.
TEST(ScreenTest, TextsAreWrappedBeforeNumbers) {
  Table table;
  table.text_columns = {"method", "speedup", "why"};
  table.text_rows = {{"zero", "1.22× [1.21, 1.22]", "loses more than it may"}};
  EXPECT_EQ(screen(table, {.width = 36}), R"(method             speedup  why
──────  ──────────────────  ────────
zero    1.22× [1.21, 1.22]  loses
                            more
                            than it
                            may
)");
}

// Where not even words fit side by side.
TEST(ScreenTest, NarrowScreensHaveBlocks) {
  Table table = comparison();
  table.notes.clear();
  EXPECT_EQ(screen(table, {.width = 24, .all = true}),
            R"(quickstart

1 method: not worth it,
it loses too much.

network small_cnn · n 6

method     dense
accuracy   97.32 ± 0.36
%
speedup    –
vs exact
estimated  –

method     zero [a]
accuracy   95.07 ± 0.53
%
speedup    1.22×
vs exact   [1.21, 1.22]
estimated  1.31×
)");
}

TEST(ScreenTest, NoLineIsWiderThanTheTerminal) {
  Table table = comparison();
  table.title = "a title of very many words, " + std::string(150, 'x') + ", and a few more of them";
  table.text_rows[0][1] = std::string(90, 'y');
  table.text_rows[1][1] = "字字字字字字字字字字字字字字字字字字字字字字字字字字字字字";
  for (size_t width = 20; width <= 130; ++width) {
    for (const bool all : {false, true}) {
      EXPECT_LE(widest(screen(table, {.width = width, .all = all, .can_choose = true})), width);
    }
  }
  EXPECT_LE(widest(screen(table, {.width = 3})), 20u) << "the narrowest there is";
}

TEST(ScreenTest, LongCommandsCanBeCopied) {
  const std::string command = "approxtrain report advice --db /a/" + std::string(100, 'z') + " x";
  const std::string text = screen(Table(), {.width = 40}, command);
  EXPECT_LE(widest(text), 40u);
  std::string joined = text.substr(std::string("Next:\n").size());
  for (size_t at = 0; (at = joined.find("\\\n", at)) != std::string::npos;) joined.erase(at, 2);
  EXPECT_EQ(joined, command + "\n");
  EXPECT_EQ(screen(Table(), {.width = 20}, "a b"), "Next: a b\n");
}

TEST(ScreenTest, WidthsOfCharacters) {
  EXPECT_EQ(terminal_columns("± × – ✔ ✘ ─"), 11u);
  EXPECT_EQ(terminal_columns("字"), 2u);
  EXPECT_EQ(terminal_columns("e\u0301"), 1u) << "an accent of its own";
  EXPECT_EQ(terminal_columns(""), 0u);
}

TEST(ScreenTest, Words) {
  using Lines = std::vector<std::string>;
  EXPECT_EQ(wrapped("", 5), (Lines{""}));
  EXPECT_EQ(wrapped("a  b", 3), (Lines{"a b"}));
  EXPECT_EQ(wrapped("one two three", 7), (Lines{"one two", "three"}));
  EXPECT_EQ(wrapped("91.20 ± 0.31 (p=0.02)", 12), (Lines{"91.20 ± 0.31", "(p=0.02)"}));
  EXPECT_EQ(wrapped("1.31× [1.20, 1.43]", 12), (Lines{"1.31×", "[1.20, 1.43]"}));
  EXPECT_EQ(wrapped("of stochastic_pruning", 14), (Lines{"of stochastic_", "pruning"}));
  EXPECT_EQ(wrapped("abcdefgh", 3), (Lines{"abc", "def", "gh"}));
  EXPECT_EQ(wrapped("12.5 ± 3.25", 5), (Lines{"12.5", "±", "3.25"}));
  EXPECT_EQ(wrapped("-16.87", 6), (Lines{"-16.87"}));
}

// Names come from databases.
TEST(ScreenTest, NothingThatATerminalObeys) {
  Table table = comparison();
  table.text_rows[0][1] = "a\x1b[2J\u009bK\xff\u202e|b\nc";
  table.notes = {"\a*bold*"};
  const std::string text = screen(table, {.width = 120});
  EXPECT_NE(text.find("a\\x1b[2J\\xc2\\x9bK\\xff\\xe2\\x80\\xae|b c"), std::string::npos) << text;
  EXPECT_NE(text.find("- \\x07*bold*\n"), std::string::npos) << text;
  for (const char c : text) EXPECT_TRUE(c == '\n' || static_cast<unsigned char>(c) >= ' ');
}

TEST(ShownColumnsTest, NamesOfColumns) {
  const auto header = [](const std::vector<std::string>& names) {
    return render(comparison(), "csv", names).substr(0, 40);
  };
  EXPECT_EQ(header({"speedup", "method"}).substr(0, 15), "speedup,method\n");
  EXPECT_EQ(header({"loss"}).substr(0, 13), "loss_pp_half\n") << "the beginning of a name";
}

TEST(ShownColumnsTest, ForPeopleAndForPrograms) {
  EXPECT_EQ(render(comparison(), "md", {"estimated", "accuracy %", "loss_pp_half"}),
            "### quickstart\n\n"
            "| *estimated* | accuracy %   | loss_pp_half |\n"
            "|-------------|--------------|--------------|\n"
            "| –           | 97.32 ± 0.36 | –            |\n"
            "| *1.31×*     | 95.07 ± 0.53 | 0.49         |\n\n"
            "- a: fewer than 7 seeds, so that no p of this table can be below 0.05, whatever the "
            "losses are\n");
  EXPECT_EQ(render(comparison(), "csv", {"method", "loss_pp_half"}),
            "method,loss_pp_half\ndense,\nzero,0.49\n");
  EXPECT_THROW(render(comparison(), "csv", {"estimated"}), Error) << "people alone have it";
}

TEST(ShownColumnsTest, UnknownNames) {
  const auto said = [](const std::vector<std::string>& names) {
    try {
      render(comparison(), "md", names);
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::kUsage);
      return std::string(error.what());
    }
    return std::string();
  };
  EXPECT_EQ(
      said({"method", "acuracy_pct"}),
      "--columns: no column \"acuracy_pct\" (did you mean \"accuracy_pct\"?); known: network, "
      "method, seed_count, accuracy_pct, speedup, estimated, loss_pp_half");
  EXPECT_EQ(said({"method", "method"}), "--columns: \"method\" is given twice");
  EXPECT_EQ(said({"accuracy", "accuracy %"}), "--columns: \"accuracy_pct\" is given twice");
}

// What all rows have alike stands above a LaTeX table, but results stay.
TEST(ShownColumnsTest, TexHasSharedValuesAbove) {
  const std::string tex = render(comparison(), "tex");
  EXPECT_NE(tex.find("  {\\footnotesize network small\\_cnn\\par}\\smallskip\n"), std::string::npos)
      << tex;
  EXPECT_NE(tex.find("    method & accuracy \\% & speedup vs exact \\\\\n"), std::string::npos)
      << tex;
  const std::string wide = render(comparison(), "tex", {}, /*wide=*/true);
  EXPECT_NE(wide.find("    method & accuracy \\% & speedup vs exact & \\emph{estimated} \\\\\n"),
            std::string::npos)
      << wide;
  const std::string chosen = render(comparison(), "tex", {"method", "n"});
  EXPECT_NE(chosen.find("network small\\_cnn\\par}"), std::string::npos) << chosen;
  EXPECT_NE(chosen.find("    method & n \\\\\n"), std::string::npos) << chosen;
}

// A table whose rows are all alike keeps a column.
TEST(ShownColumnsTest, SomeColumnStays) {
  Table table;
  table.text_columns = {"a", "b"};
  table.text_rows = {{"1", "2"}, {"1", "2"}};
  EXPECT_EQ(screen(table, {.width = 80}), "b 2\n\na\n─\n1\n1\n");
  table.text_rows.pop_back();
  EXPECT_EQ(screen(table, {.width = 80}), "a  b\n─  ─\n1  2\n") << "one row has nothing alike";
}

}  // namespace
}  // namespace approx
