// A table for output: named columns of plain values for programs, and the texts that a person
// reads.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/params.h"

namespace approx {

// A value: nothing, a whole number, a number (which may be NaN or infinite), or text.
using Field = std::variant<std::monostate, int64_t, double, std::string>;

// An optional value as a Field; nothing where it is missing.
template <typename T>
Field field(const std::optional<T>& value) {
  return value ? Field(*value) : Field();
}

// A value as programs read it: all digits of a number, "nan", "inf", "-inf"; "" for nothing.
std::string text_of(const Field& field);

// A number by a format such as "{:.2f}×"; "–" for a value that is no number.
std::string number_text(const Field& value, const char* format);

// Which parts of a table a terminal shows that is too narrow for it (results/render/screen.h).
// Columns are named as for --columns: text_names(). All members may be empty.
struct ForScreen {
  // Columns that identify a row; shown only if rows differ in them.
  std::vector<std::string> keys;
  // Columns that are always shown; if empty, all are.
  std::vector<std::string> results;
  std::string headline;           // a sentence above the table
  std::vector<std::string> next;  // the command to go on with: {"report", "advice"}
};

struct Table {
  std::string name;                      // "table", "kernels", "runs"
  std::string title;                     // above the Markdown table, may be empty
  std::vector<std::string> columns;      // for programs
  std::vector<std::vector<Field>> rows;  // one value per column
  // For people. If empty, `columns` and `rows` serve both, with numbers rounded to four digits.
  std::vector<std::string> text_columns;
  std::vector<std::vector<std::string>> text_rows;
  std::vector<std::string> text_names;  // names of text_columns; if empty, the headers serve
  // Columns of text in which "*1.45×*" is an emphasised 1.45×, headers included. In other columns
  // stars are plain text, since labels may contain them.
  std::set<size_t> starred;
  std::vector<std::string> notes;  // below the table
  ForScreen screen;
};

// The table as a person reads it, every row as long as `columns`.
struct TableText {
  std::vector<std::string> columns;
  std::vector<std::vector<std::string>> rows;
  std::set<size_t> starred;
};

TableText text_of(const Table& table);

// A name for each text column, by which to ask for it. It is the name of the column for programs
// ("loss_pp") if there is one, else the header without stars.
std::vector<std::string> text_names(const Table& table);

// The table with values of at most seven significant digits, for a page.
Table with_short_numbers(Table table);

// Whether all cells of a column are numbers, with additions such as "1.06× [1.01, 1.11]", "2/2" or
// "> 40.0 s". Such a column is right-aligned. "–" and "" fit any column.
bool holds_numbers(const TableText& text, size_t column);

// Removes the first character from `text`, which is not empty, and returns it; U+FFFD for a byte
// that is not UTF-8.
char32_t take_character(std::string_view& text);

// Renders a table in one of these formats. Throws Error(kUsage) for any other `format`.
//   md     a Markdown table with padded columns and its notes; a renderer shows each text as it is
//          (results/render/text_table.h)
//   csv    RFC 4180 with a header line; a missing value is an empty field, others that are not
//          finite are nan, inf, -inf
//   json   {"schema": "approxtrain.table/1", "table", "title", "columns", "rows", "notes"}; a row
//          is an object. A number that is not finite is null, and named in the row's "special"
//   jsonl  one row a line
//   tex    a LaTeX table no wider than a line, for \input into a document that loads array,
//          booktabs and longtable; ASCII only. Values that all rows share go above it, marks of
//          notes are raised, and a table longer than a page is broken over pages
// Whole numbers beyond 2^53 are texts in JSON. `columns` names the columns to show, in this order
// (with_columns() in shown_columns.h, which throws for unknown names). Empty: all; in tex only
// those that a screen shows, unless `wide`.
std::string render(const Table& table, std::string_view format,
                   const std::vector<std::string>& columns = {}, bool wide = false);

}  // namespace approx
