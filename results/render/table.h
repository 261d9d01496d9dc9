// A table on its way out: named columns of plain values for programs, and the same as a person
// reads it.
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

// Nothing, a whole number, a number (which may be NaN or infinite), text.
using Field = std::variant<std::monostate, int64_t, double, std::string>;

// Of what may be missing.
template <typename T>
Field field(const std::optional<T>& value) {
  return value ? Field(*value) : Field();
}

// A value as programs read it: all digits of a number, "nan", "inf", "-inf"; "" for nothing.
std::string text_of(const Field& field);

// A number by a format such as "{:.2f}×"; "–" for what is none.
std::string number_text(const Field& value, const char* format);

// What a screen shows of a table that is wider than it (results/render/screen.h). Columns are named
// as --columns names them: text_names(). All may be empty.
struct ForScreen {
  std::vector<std::string> keys;     // tell the rows apart: columns only where rows differ in them
  std::vector<std::string> results;  // always columns; without any, so are all
  std::string headline;              // a sentence above the table
  std::vector<std::string> next;     // the command to go on with: {"report", "advice"}
};

struct Table {
  std::string name;                      // "table", "kernels", "runs"
  std::string title;                     // above the Markdown table, may be empty
  std::vector<std::string> columns;      // for programs
  std::vector<std::vector<Field>> rows;  // one value per column
  // For people; where empty, `columns` and `rows` serve both, numbers rounded to four digits.
  std::vector<std::string> text_columns;
  std::vector<std::vector<std::string>> text_rows;
  std::vector<std::string> text_names;  // of the text's columns; where empty, the headers serve
  // Columns of the text in which "*1.45×*" is an emphasised 1.45×, headers included. Elsewhere
  // stars are text, as a label may have them.
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

// A name for each column of text_of(), by which it is asked for: that of the column for programs
// ("loss_pp") where it has one, else its header without stars.
std::vector<std::string> text_names(const Table& table);

// Whether a column reads as numbers, with what belongs to them ("1.06× [1.01, 1.11]", "2/2",
// "> 40.0 s"), and is set to the right. "–" and "" fit any column.
bool holds_numbers(const TableText& text, size_t column);

// Cuts the first character off `text`, which is not empty; a byte that is not UTF-8 is U+FFFD.
char32_t take_character(std::string_view& text);

// Throws Error(kUsage) unless `format` is one of md, csv, json, jsonl, tex.
//   md     a Markdown table, columns padded, with its notes; a renderer shows every text as it is
//          (results/render/text_table.h)
//   csv    RFC 4180, a header line; nothing is an empty field, what is not finite is nan, inf, -inf
//   json   {"schema": "approxtrain.table/1", "table", "title", "columns", "rows", "notes"}; a row
//          is an object; a number that is not finite is null, and named in the row's "special"
//   jsonl  one row a line
//   tex    a LaTeX table no wider than a line, for \input into a document that loads booktabs and
//          graphicx; ASCII only. What all rows have alike stands above it (shown_columns.h)
// Whole numbers beyond 2^53 are texts in JSON. `columns`: those that are shown, in this order, by
// their names (with_columns() in shown_columns.h, which throws for others); empty: all.
std::string render(const Table& table, std::string_view format,
                   const std::vector<std::string>& columns = {});

}  // namespace approx
