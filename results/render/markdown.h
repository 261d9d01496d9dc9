// Text on its way into Markdown: what a CommonMark renderer with GitHub's tables shows is the text,
// character for character. A character gets a backslash only where it would be read as markup, so
// that plain text stays as it is. Line ends and tabs become blanks, other control characters
// "\x1b"; every result is on one line.
#pragma once

#include <string>
#include <string_view>

namespace approx {

// As a cell of a table.
std::string markdown_cell(std::string_view text);

// As a heading, behind "### ". Blanks around it go, which no renderer shows.
std::string markdown_heading(std::string_view text);

// As an item of a list, behind "- ". Blanks around it go.
std::string markdown_item(std::string_view text);

}  // namespace approx
