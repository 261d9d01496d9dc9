// Rows of text as a table. Every row is as long as the header.
#pragma once

#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace approx {

using TextRow = std::vector<std::string>;

// A column of numbers is set to the right and marked so, or all are to the left and none is marked.
enum class Alignment { kNumbersRight, kLeft };

// On one line of a terminal, line ends and tabs as blanks: names from a database may hold what a
// terminal obeys.
std::string on_one_line(std::string_view text);

// Markdown, columns padded. Any text may be a cell, and is what a renderer shows
// (results/render/markdown.h). In the columns `starred` emphasised() texts are emphasised.
std::string markdown_table(const TextRow& header, const std::vector<TextRow>& rows,
                           Alignment alignment = Alignment::kNumbersRight,
                           const std::set<size_t>& starred = {});

// RFC 4180, with line feeds.
std::string csv_table(const TextRow& header, const std::vector<TextRow>& rows);

// With the four digits that people read: "0.01234", "123456".
std::string rounded(double value);

// What stands between the stars of "*estimated*"; "" where nothing does.
std::string_view emphasised(std::string_view text);

}  // namespace approx
