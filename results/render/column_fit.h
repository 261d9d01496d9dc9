// Where texts may be broken, and how wide the columns of a table become in a given width.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "results/render/table.h"

namespace approx {

// The pieces of a text that may not be broken at blanks: "0.31 ± 0.02", "[1.20, 1.43]", a word.
std::vector<std::string> words_of(std::string_view text);

// The pieces of a word between which it may be broken where it must: behind signs such as "_" and
// "/". Short ones stay together: "(n=1)", "-0.5".
std::vector<std::string> pieces_of(std::string_view word);

std::string without_end_blanks(std::string text);

// How wide a text is on one line, in any unit.
using TextMeasure = std::function<size_t(std::string_view)>;

// How wide a column can be.
struct ColumnWidths {
  size_t pieces = 1;   // no piece of a word is broken
  size_t words = 1;    // no word is
  size_t numbers = 1;  // no cell of a column of numbers is
  size_t natural = 1;  // no text is
};

// The widths of a column that has these texts; without `numbers`.
ColumnWidths widths_of(const std::vector<std::string_view>& texts, const TextMeasure& measure);

// The widths of each column of a table, with its header.
std::vector<ColumnWidths> column_widths(const TableText& text, const TextMeasure& measure);

// A width for each column, `total` together at most; none where words would have to be broken in
// the middle of their pieces. Numbers stay on one line before texts do.
std::vector<size_t> fitted_widths(const std::vector<ColumnWidths>& columns, size_t total);

}  // namespace approx
