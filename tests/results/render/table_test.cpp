#include "results/render/table.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/error.h"
#include "base/files.h"
#include "base/text.h"
#include "tests/results/filled_store.h"

namespace approx {
namespace {

Table of_texts(std::vector<std::string> columns, std::vector<std::vector<std::string>> rows) {
  Table table;
  table.text_columns = std::move(columns);
  table.text_rows = std::move(rows);
  return table;
}

// A text as LaTeX: the only cell of a table.
std::string tex_of(const std::string& text) {
  const std::string out = render(of_texts({"x"}, {{text}}), "tex");
  const size_t begin = out.find("\\midrule\n    ") + 13, end = out.find(" \\\\\n    \\bottomrule");
  return out.substr(begin, end - begin);
}

TEST(TexTest, AWholeTable) {
  Table table = of_texts(
      {"method", "accuracy %", "speedup"},
      {{"dense [a]", "41.20 ± 0.31", "–"}, {"topk_position", "-0.12", "1.31× [1.26, 1.36]"}});
  table.title = "R&D: 100 %";
  table.notes = {"a: fewer than 5 seeds", "p: of a test", "±: 95 % intervals"};
  EXPECT_EQ(render(table, "tex"), R"(% Needs \usepackage{array,booktabs,longtable}.
\begin{table}[htbp]
  \centering
  \caption{R\&D: 100 \%}
  \begin{tabular}{@{}lrr@{}}
    \toprule
    method & accuracy \% & speedup \\
    \midrule
    dense\textsuperscript{a} & 41.20 $\pm$ 0.31 & \textendash{} \\
    topk\_position & $-$0.12 & 1.31$\times$ [1.26, 1.36] \\
    \bottomrule
  \end{tabular}
  \par\smallskip
  {\footnotesize\raggedright\setlength{\parindent}{0pt}
    \textsuperscript{a}fewer than 5 seeds\par
    p: of a test\par
    $\pm$: 95 \% intervals\par
  }
\end{table}
)");
}

std::vector<std::string> layout_of(const std::string& tex) {
  std::vector<std::string> layout;
  for (const std::string_view line : split(tex, "\n")) {
    if (line.find("\\begin{tabular}") != line.npos || line.find("\\footnotesize\\") != line.npos) {
      layout.emplace_back(trim(line));
    }
  }
  return layout;
}

TEST(TexTest, TextsThatDoNotFitAreSmallerThenBroken) {
  using Lines = std::vector<std::string>;
  EXPECT_EQ(layout_of(render(of_texts({"why", "n"}, {{std::string(40, 'x'), "1"}}), "tex")),
            Lines({"\\begin{tabular}{@{}lr@{}}"}));
  EXPECT_EQ(layout_of(render(of_texts({"why", "n"}, {{std::string(60, 'x'), "1"}}), "tex")),
            Lines({"\\footnotesize\\setlength{\\tabcolsep}{3pt}", "\\begin{tabular}{@{}lr@{}}"}));
  std::string text;
  for (int word = 0; word < 40; ++word) text += "words ";
  const auto broken = layout_of(render(of_texts({"why", "n"}, {{text, "1"}}), "tex"));
  ASSERT_EQ(broken.size(), 2U);
  EXPECT_TRUE(broken[1].starts_with("\\begin{tabular}{@{}>{\\raggedright\\arraybackslash}p{0.9"))
      << broken[1];
  EXPECT_TRUE(broken[1].ends_with("\\linewidth}r@{}}")) << "numbers stay whole: " << broken[1];
  const std::string path = "folder/of_many_parts/" + std::string(200, 'x') + "/" + text;
  EXPECT_NE(render(of_texts({"why"}, {{path}}), "tex").find("of\\_many\\_\\penalty100{}parts/"),
            std::string::npos);
  EXPECT_NE(render(of_texts({"why"}, {{path}}), "tex").find("xxx\\penalty900{}xxx"),
            std::string::npos)
      << "what has no seam is broken anywhere";
}

TEST(TexTest, ColumnsThatFitInNoWayBecomeLines) {
  const std::vector<std::string> headers(30, "header");
  const auto out =
      render(of_texts(headers, {std::vector<std::string>(30, "a value"), headers}), "tex");
  EXPECT_NE(out.find("    header & a value \\\\\n    header & a value \\\\\n"), std::string::npos)
      << out;
  EXPECT_NE(out.find("    header & a value \\\\\n    \\midrule\n    header & header \\\\\n"),
            std::string::npos)
      << out;
}

TEST(TexTest, WhatIsLongerThanAPageIsBrokenOverPages) {
  const auto rows = [](size_t count) {
    std::vector<std::vector<std::string>> all(count);
    for (size_t i = 0; i < count; ++i) all[i] = {fmt::format("m{}", i), std::to_string(i)};
    return render(of_texts({"method", "n"}, all), "tex");
  };
  EXPECT_EQ(rows(20).find("longtable}{"), std::string::npos);
  const std::string many = rows(60);
  EXPECT_EQ(many.find("\\begin{table}"), std::string::npos) << "a float cannot be broken";
  EXPECT_NE(many.find("    \\endfirsthead\n    \\toprule\n    method & n \\\\\n"),
            std::string::npos)
      << many;
}

// What a screen shows by default, unless all is asked for; the rest is named.
TEST(TexTest, HasTheColumnsThatMatterMost) {
  Table table = of_texts({"method", "loss", "images/s"}, {{"a", "1", "2"}, {"b", "3", "4"}});
  table.screen.results = {"method", "loss"};
  const std::string out = render(table, "tex");
  EXPECT_NE(out.find("    method & loss \\\\\n"), std::string::npos) << out;
  EXPECT_NE(out.find("% 1 more column: --wide has all, --columns NAME,... some.\n"),
            std::string::npos);
  EXPECT_NE(render(table, "tex", {}, /*wide=*/true).find("method & loss & images/s"),
            std::string::npos);
}

TEST(TexTest, AnEmptyTableIsStillATable) {
  const std::string out = render(Table(), "tex");
  EXPECT_NE(out.find("\\begin{tabular}{@{}l@{}}"), std::string::npos);
  EXPECT_EQ(out.find("\\caption"), std::string::npos);
  EXPECT_EQ(out.find("\\par"), std::string::npos);
  Table values;
  values.columns = {"a_b", "c"};
  values.rows = {{int64_t{-3}, Field()}, {std::numeric_limits<double>::quiet_NaN(), 0.5}};
  EXPECT_NE(render(values, "tex").find("{@{}rr@{}}"), std::string::npos);
  EXPECT_NE(render(values, "tex").find("    $-$3 & \\textendash{} \\\\\n    nan & 0.5 \\\\\n"),
            std::string::npos);
}

TEST(TexTest, EverySpecialCharacterIsEscaped) {
  EXPECT_EQ(tex_of("& % $ # _ { }"), "\\& \\% \\$ \\# \\_ \\{ \\}");
  EXPECT_EQ(tex_of("~ ^ \\"), "\\textasciitilde{} \\textasciicircum{} \\textbackslash{}");
  EXPECT_EQ(tex_of("< > |"), "\\textless{} \\textgreater{} \\textbar{}");
  EXPECT_EQ(tex_of("\"a\" `b'"), "\\textquotedblright{}a\\textquotedblright{} \\textquoteleft{}b'");
  EXPECT_EQ(tex_of("\\input{x}$"), "\\textbackslash{}input\\{x\\}\\$");
  EXPECT_EQ(tex_of("a\nb\tc"), "a b c");
}

TEST(TexTest, OtherCharactersBecomeCommands) {
  EXPECT_EQ(tex_of("±×µ→✓−≤"), "$\\pm$$\\times$$\\mu$$\\rightarrow$$\\surd$$-$$\\leq$");
  EXPECT_EQ(tex_of("1–2 — 3…"), "1\\textendash{}2 \\textemdash{} 3\\ldots{}");
  EXPECT_EQ(tex_of("W·Xᵀ, 10⁻³, x₂"), "W$\\cdot$X$^{T}$, 10$^{-}$$^{3}$, x$_{2}$");
  EXPECT_EQ(tex_of("é Ö ß ï"), "\\'{e} \\\"{O} \\ss{} \\\"{\\i}");
  EXPECT_EQ(tex_of("😀"), "(U+1F600)");
  EXPECT_EQ(tex_of("\xff\x01"), "(U+FFFD)(U+0001)");
  for (char32_t c = 0xA0; c < 0x2800; ++c) {
    std::string text(3, ' ');
    text[0] = static_cast<char>(0xE0 | c >> 12), text[1] = static_cast<char>(0x80 | (c >> 6 & 63));
    text[2] = static_cast<char>(0x80 | (c & 63));
    if (c < 0x800) text = {static_cast<char>(0xC0 | c >> 6), static_cast<char>(0x80 | (c & 63))};
    const std::string tex = tex_of(text);
    EXPECT_TRUE(std::all_of(tex.begin(), tex.end(), [](char b) { return b >= ' ' && b < 127; }));
    EXPECT_EQ(std::count(tex.begin(), tex.end(), '{'), std::count(tex.begin(), tex.end(), '}'));
    EXPECT_EQ(std::count(tex.begin(), tex.end(), '$') % 2, 0);
    EXPECT_FALSE(tex.empty());
  }
}

// What would mean something else to LaTeX although no character of it is special.
TEST(TexTest, NeighboursDoNotMelt) {
  EXPECT_EQ(tex_of("--format"), "-{}-format");
  EXPECT_EQ(tex_of("a---b"), "a-{}-{}-b");
  EXPECT_EQ(tex_of("x''"), "x'{}'");
  EXPECT_EQ(tex_of("[a] b"), "{[}a] b") << "an argument of the \\\\ before it";
  EXPECT_EQ(tex_of("  *"), "  {*}");
  EXPECT_EQ(tex_of("-3 (-0.5) [-1, -2] k-3"), "$-$3 ($-$0.5) [$-$1, $-$2] k-3");
}

TEST(TableTextTest, ColumnsOfNumbersAreKnown) {
  const auto numbers = [](const std::vector<std::string>& cells) {
    TableText text{{"x"}, {}};
    for (const auto& cell : cells) text.rows.push_back({cell});
    return holds_numbers(text, 0);
  };
  EXPECT_TRUE(numbers({"1", "–", ""}));
  EXPECT_TRUE(numbers({"-0.12 (n=1)", "6.25 ± 8.96 (p=0.25)", "75.00 (n=1)"}));
  EXPECT_TRUE(numbers({"1.06× [1.01, 1.11]", "> 12.0 s (0/3 reached)"}));
  EXPECT_TRUE(numbers({"2/2", "1/2, 1 diverged", "6.7e-06", "0.0e+00", "nan", "-inf", "−3"}));
  EXPECT_FALSE(numbers({"128x16x16"}));
  EXPECT_FALSE(numbers({"2-layer CNN"}));
  EXPECT_FALSE(numbers({"1", "dense"}));
  EXPECT_FALSE(numbers({"2026-11-21"}));
  EXPECT_FALSE(numbers({"", "–"})) << "nothing is no number";
  EXPECT_FALSE(numbers({}));
}

TEST(TableTextTest, RowsAreAsLongAsTheHeader) {
  const TableText text = text_of(of_texts({"a", "b"}, {{"1"}, {"1", "2", "3"}}));
  EXPECT_EQ(text.rows, (std::vector<std::vector<std::string>>{{"1", ""}, {"1", "2"}}));
}

TEST(TableTextTest, CharactersOfUtf8) {
  const auto read = [](std::string_view text) {
    std::vector<char32_t> all;
    while (!text.empty()) all.push_back(take_character(text));
    return all;
  };
  using Characters = std::vector<char32_t>;
  EXPECT_EQ(read("aé€😀"), (Characters{'a', 0xE9, 0x20AC, 0x1F600}));
  EXPECT_EQ(read("\x80"), (Characters{0xFFFD}));
  EXPECT_EQ(read("\xC3"), (Characters{0xFFFD})) << "cut off";
  EXPECT_EQ(read("\xC3("), (Characters{0xFFFD, '('}));
  EXPECT_EQ(read("\xC0\xBC"), (Characters{0xFFFD, 0xFFFD})) << "'<' in two bytes";
  EXPECT_EQ(read("\xED\xA0\x80"), (Characters{0xFFFD, 0xFFFD, 0xFFFD})) << "half of a pair";
  EXPECT_EQ(read("\xF4\x90\x80\x80"), (Characters{0xFFFD, 0xFFFD, 0xFFFD, 0xFFFD}));
  EXPECT_EQ(read("\xFF"), (Characters{0xFFFD}));
}

TEST(TableTextTest, AnUnknownFormatIsRefused) {
  try {
    render(Table(), "texx");
    FAIL();
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("did you mean \"tex\""), std::string::npos);
  }
}

TEST(TableTest, CsvQuotesAndJsonKeepsWhatItCanHold) {
  Table table;
  table.columns = {"text", "big", "value"};
  table.rows = {{"a,\"b\"\n", int64_t{1} << 60, std::numeric_limits<double>::quiet_NaN()},
                {Field(), int64_t{-3}, -std::numeric_limits<double>::infinity()}};
  EXPECT_EQ(render(table, "csv"),
            "text,big,value\n\"a,\"\"b\"\"\n\",1152921504606846976,nan\n,-3,-inf\n");
  EXPECT_EQ(render(table, "jsonl"),
            "{\"text\":\"a,\\\"b\\\"\\n\",\"big\":\"1152921504606846976\",\"value\":null,"
            "\"special\":{\"value\":\"nan\"}}\n"
            "{\"text\":null,\"big\":-3,\"value\":null,\"special\":{\"value\":\"-inf\"}}\n");
  EXPECT_THROW(render(table, "xml"), Error);
}

TEST(TableTest, MarkdownEscapesAndPadsByCharacters) {
  Table table;
  table.text_columns = {"µ", "b"};
  table.text_rows = {{"a|b", "é"}};
  EXPECT_EQ(render(table, "md"), "| µ    | b   |\n|------|-----|\n| a\\|b | é   |\n");
}

TEST(TableTest, FilesAppearWholeOrNotAtAll) {
  TemporaryFolder folder;
  write_file(folder / "out.csv", "x\n");
  EXPECT_EQ(file_bytes(folder / "out.csv"), "x\n");
  EXPECT_THROW(write_file(folder / "none/out.csv", "x"), Error);
  std::filesystem::create_directory(folder / "taken");
  EXPECT_THROW(write_file(folder / "taken", "x"), Error);
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder / ""), {}), 2)
      << "nothing unfinished is left";
}

}  // namespace
}  // namespace approx
