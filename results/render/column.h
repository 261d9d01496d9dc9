// A column of a table, defined once: name and value for programs, heading and text for people.
#pragma once

#include <concepts>
#include <functional>
#include <iterator>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/enum_text.h"
#include "results/render/table.h"

namespace approx {

// How a table shows one property of its lines. Programs and people do not always see the same
// columns: a ratio and both ends of its interval may be one "1.09× [1.07, 1.11]" for people. A
// column without a name is for people only, one without a header for programs only.
// (The functions have no initializer `= {}`: GCC 12 fails with an internal error on them.)
template <typename Line>
struct Column {
  std::string name;    // in CSV and JSON, with its unit where it has one: "loss_pp"
  std::string header;  // heading in a table for people
  std::function<Field(const Line&)> value;       // a function or a member: `&Line::seed`
  std::function<std::string(const Line&)> text;  // the text for people; without it, that of `value`
  bool shown = true;  // false: hidden from people this time, such as a setting that all lines share
  bool starred = false;  // its header and texts may be emphasised: Table::starred
};

template <typename Line>
using Columns = std::vector<Column<Line>>;

// A value as a program reads it: nothing where it is missing, 1 or 0 for a truth value.
template <typename T>
requires NamedEnum<T> || std::convertible_to<T, Field> || std::integral<T> ||
    std::convertible_to<T, std::string_view>
        Field as_field(const T& value) {
  if constexpr (NamedEnum<T>) {
    return std::string(name(value));
  } else if constexpr (std::integral<T>) {
    return static_cast<int64_t>(value);
  } else if constexpr (std::convertible_to<T, std::string_view>) {
    return std::string(value);
  } else {
    return value;
  }
}

template <typename T>
Field as_field(const std::optional<T>& value) {
  return value ? as_field(*value) : Field();
}

// The value at the end of a path that begins at `from`; see via().
template <typename T, typename... Members>
Field follow(const T& from, Members... members) {
  if constexpr (sizeof...(members) == 0) {
    return as_field(from);
  } else if constexpr (requires { *from; }) {  // a pointer, or a value that may be missing
    return from ? follow(*from, members...) : Field();
  } else {
    return [&](auto first, auto... rest) {
      return follow(std::invoke(first, from), rest...);
    }(members...);
  }
}

// Makes a function that follows a path of members or functions from a line. Each is applied to the
// result of the one before; the result is nothing where one of them is missing: via(&Line::row,
// &Row::realisation, &Realisation::lo).
template <typename... Members>
auto via(Members... members) {
  return [=](const auto& line) { return follow(line, members...); };
}

template <typename Line>
void append(Columns<Line>& columns, Columns<Line> more) {
  columns.insert(columns.end(), std::make_move_iterator(more.begin()),
                 std::make_move_iterator(more.end()));
}

// Columns without headers, for a table that people read as programs do.
template <typename Line>
Columns<Line> without_headers(Columns<Line> columns) {
  for (auto& column : columns) column.header.clear();
  return columns;
}

// Fills the part of a table that programs see: its columns, and a row for each line after the rows
// that it has.
template <typename Line>
void fill_values(Table& table, const Columns<Line>& columns, const std::vector<Line>& lines) {
  Columns<Line> named;
  for (const auto& column : columns) {
    if (!column.name.empty()) named.push_back(column);
  }
  table.columns.clear();
  for (const auto& column : named) table.columns.push_back(column.name);
  for (const auto& line : lines) {
    auto& values = table.rows.emplace_back();
    for (const auto& column : named) values.push_back(column.value(line));
  }
}

// Fills the part of a table that people see. Where no column has a header, people see names and
// values. If people see other lines than programs, call it with separate columns.
template <typename Line>
void fill_texts(Table& table, const Columns<Line>& columns, const std::vector<Line>& lines) {
  Columns<Line> shown;
  for (const auto& column : columns) {
    if (!column.header.empty() && column.shown) shown.push_back(column);
  }
  table.text_columns.clear();
  table.text_names.clear();
  table.starred.clear();
  if (shown.empty()) return;
  for (const auto& column : shown) {
    if (column.starred) table.starred.insert(table.text_columns.size());
    table.text_columns.push_back(column.header);
    table.text_names.push_back(column.name);
  }
  for (const auto& line : lines) {
    auto& texts = table.text_rows.emplace_back();
    for (const auto& column : shown) {
      texts.push_back(column.text ? column.text(line) : text_of(column.value(line)));
    }
  }
}

template <typename Line>
void fill(Table& table, const Columns<Line>& columns, const std::vector<Line>& lines) {
  fill_values(table, columns, lines);
  fill_texts(table, columns, lines);
}

template <typename Line>
Table table_of(std::string title, const Columns<Line>& columns, const std::vector<Line>& lines) {
  Table table{.title = std::move(title)};
  fill(table, columns, lines);
  return table;
}

}  // namespace approx
