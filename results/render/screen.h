// A table as a terminal shows it: no line wider than the terminal.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "results/render/table.h"

namespace approx {

// How wide a text is on a terminal, in columns: 1 a character (± × – ✔ too), 2 for wide ones of
// East Asia and pictures, 0 for marks that join the one before.
size_t terminal_columns(std::string_view text);

// `text` in lines of at most `width` columns (1 at least), without blanks at their ends; at least
// one line. It breaks at blanks, but not around "±" and not inside short brackets; a longer word
// behind a sign such as "_", "/" or "="; any other where it must. Control characters and broken
// UTF-8 become "\x1b".
std::vector<std::string> wrapped(std::string_view text, size_t width);

struct ScreenOptions {
  size_t width = 80;                 // of the terminal, columns; fewer than 20 count as 20
  std::vector<std::string> columns;  // --columns: these alone
  bool all = false;                  // --wide: all columns
  bool can_choose = false;           // the command has --columns and --wide: named where some lack
};

// Title, headline, what all rows have alike, the table, its notes, and the next command. Columns
// are as wide as their texts where that fits, else texts are wrapped inside their columns, and
// where not even their words fit, each row is a block of lines "header  value". Which columns, see
// shown_on_screen() (shown_columns.h). `next`: the whole next command, "" for none; a long one is
// broken with "\" as a shell reads it. Throws Error(kUsage) as with_columns() does.
std::string screen(const Table& table, const ScreenOptions& options, const std::string& next = "");

}  // namespace approx
