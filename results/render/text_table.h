// Rows of text as a table, every one as long as the header, and text in Markdown.
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

// Text on its way into Markdown: what a CommonMark renderer with GitHub's tables shows is the text,
// character for character. A character gets a backslash only where it would be read as markup, so
// that plain text stays as it is. Line ends and tabs become blanks, other control characters
// "\x1b"; every result is on one line.

// As a heading, behind "### ". Blanks around it go, which no renderer shows.
std::string markdown_heading(std::string_view text);

// As an item of a list, behind "- ". Blanks around it go.
std::string markdown_item(std::string_view text);

// A table, columns padded. In the columns `starred` emphasised() texts are emphasised.
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
