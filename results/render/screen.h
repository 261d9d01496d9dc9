// A table as a terminal shows it: no line wider than the terminal.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "results/render/table.h"

namespace approx {

// The width of a text on a terminal in columns: 1 for a character (also ± × – ✔), 2 for wide East
// Asian characters and pictures, 0 for combining marks.
size_t terminal_columns(std::string_view text);

// Breaks `text` into lines of at most `width` columns (1 at least), without blanks at their ends;
// at least one line. Lines break at blanks, but not around "±" and not inside short brackets. A
// longer word breaks after a sign such as "_", "/" or "=", and any other word where it must.
// Control characters and broken UTF-8 become "\x1b".
std::vector<std::string> wrapped(std::string_view text, size_t width);

struct ScreenOptions {
  size_t width = 80;                 // of the terminal, in columns; fewer than 20 count as 20
  std::vector<std::string> columns;  // --columns: only these
  bool all = false;                  // --wide: all columns
  // Whether the command has --columns and --wide; then they are named where columns are missing.
  bool can_choose = false;
};

// Renders the title, the headline, the values that all rows share, the table, its notes, and the
// next command. Columns are as wide as their texts if that fits; otherwise texts are wrapped inside
// their columns. If not even single words fit, each row is a block of lines "header  value".
// shown_columns() chooses the columns. `next` is the whole next command, "" for none; a long one is
// broken with "\" as a shell reads it. Throws Error(kUsage) as with_columns() does.
std::string screen(const Table& table, const ScreenOptions& options, const std::string& next = "");

}  // namespace approx
