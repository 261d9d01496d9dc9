// Rows of text as a table, each as long as the header, and text in Markdown.
#pragma once

#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace approx {

using TextRow = std::vector<std::string>;

// kNumbersRight: columns of numbers are right-aligned and marked so. kLeft: all are left-aligned
// and none is marked.
enum class Alignment { kNumbersRight, kLeft };

// Text on one line of a terminal; line ends and tabs become blanks. Names from a database may hold
// control sequences that a terminal would obey.
std::string on_one_line(std::string_view text);

// Escapes text for Markdown. A CommonMark renderer with GitHub's tables shows the text character
// for character. A character gets a backslash only where it would be read as markup, so that plain
// text stays as it is. Line ends and tabs become blanks, other control characters "\x1b"; every
// result is on one line.

// Text as a heading, after "### ". Blanks around it are removed; no renderer shows them.
std::string markdown_heading(std::string_view text);

// Text as an item of a list, after "- ". Blanks around it are removed.
std::string markdown_item(std::string_view text);

// A Markdown table with padded columns. In the columns `starred`, emphasised() texts are
// emphasised.
std::string markdown_table(const TextRow& header, const std::vector<TextRow>& rows,
                           Alignment alignment = Alignment::kNumbersRight,
                           const std::set<size_t>& starred = {});

// A CSV table by RFC 4180, with line feeds.
std::string csv_table(const TextRow& header, const std::vector<TextRow>& rows);

// A number with the four digits that people read: "0.01234", "123456".
std::string rounded(double value);

// The text between the stars of "*estimated*"; "" for a text without such stars.
std::string_view emphasised(std::string_view text);

}  // namespace approx
