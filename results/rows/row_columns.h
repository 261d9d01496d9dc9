// Columns that several reports have: what a line is about, and its measured quantities.
#pragma once

#include <functional>
#include <set>
#include <string>
#include <type_traits>
#include <vector>

#include "results/render/column.h"
#include "results/rows/rows.h"
#include "results/stats/breakeven.h"

namespace approx {

// The row that a line of a report is about, which the line has as `row` or is.
template <typename Line>
const Row& row_of(const Line& line) {
  if constexpr (std::is_same_v<Line, Row>) {
    return line;
  } else {
    return *line.row;
  }
}

// What a line must be read with: its own notes, or those of its row.
template <typename Line>
const Notes& notes_of(const Line& line) {
  if constexpr (requires { line.notes; }) {
    return line.notes;
  } else {
    return line.row->notes;
  }
}

// The letters of the notes of all lines of a table. `without`: notes that say nothing there.
template <typename Line>
NoteLetters letters_of(const std::vector<Line>& lines, const std::set<Note>& without = {},
                       char first = 'a') {
  std::vector<Notes> notes;
  for (const auto& line : lines) notes.push_back(notes_of(line));
  return {notes, first, without};
}

// The notes as programs read them. `letters` must outlive the column.
template <typename Line>
Column<Line> notes_column(const NoteLetters& letters) {
  return {.name = "notes",
          .value = [&letters](const Line& line) { return letters.names(notes_of(line)); }};
}

// What tells the rows of a table apart.
template <typename Line>
struct RowColumns {
  Column<Line> network, dataset, setting, tuned_rate, schedule, method;

  Columns<Line> all() const { return {network, dataset, setting, tuned_rate, schedule, method}; }
};

// `set` and `letters`, which mark the methods for people, must outlive the columns.
template <typename Line>
RowColumns<Line> row_columns(const RowSet& set, const NoteLetters* letters = nullptr) {
  const auto cell = [](const Line& line) -> const Cell& { return *row_of(line).first; };
  return {
      .network = {"network", "network", via(cell, &Cell::network_label)},
      .dataset = {"dataset", "data set", via(cell, &Cell::config, &RunConfig::dataset)},
      .setting = {.name = "setting",
                  .header = "setting",
                  .value = [&set](const Line& line) { return set.setting(row_of(line)); },
                  .shown = set.settings_differ()},
      .tuned_rate = {.name = "tuned_rate",
                     .header = "tuned rate",
                     .value = [](const Line& line) { return RowSet::tuned_rate(row_of(line)); },
                     .shown = set.tuned_rates_differ()},
      .schedule = {"schedule", "schedule", via(cell, &Cell::schedule_label)},
      .method = {"method", "method", via(cell, &Cell::method_label),
                 [=](const Line& line) {
                   return cell(line).method_label +
                          (letters != nullptr ? letters->marks(notes_of(line)) : "");
                 }},
  };
}

// A number that people read by a format such as "{:.2f} s", or a dash. `of`: of a line, a member or
// a function.
template <typename Line, typename Of>
Column<Line> number_column(const char* name, const char* header, Of of, const char* format) {
  return {name, header, via(of),
          [=](const Line& line) { return number_text(via(of)(line), format); }};
}

// The mean of a summary and the half width of its interval: NAME, NAME_half. For people both are
// one column, with two decimals. `of`: the summary of a line, a member or a function.
template <typename Line, typename Of>
Columns<Line> summary_columns(const std::string& name, const std::string& header, Of of) {
  return {{name, header, via(of),
           [=](const Line& line) { return with_interval(std::invoke(of, line), 2); }},
          {.name = name + "_half", .value = via(of, &Summary::half)}};
}

// A ratio and its interval: NAME, NAME_lo, NAME_hi; for people one column. `of`: the ratio of a
// line, a member or a function.
template <typename Line, typename Of>
Columns<Line> ratio_columns(const std::string& name, const std::string& header, Of of) {
  return {
      {name, header, via(of), [=](const Line& line) { return ratio_text(std::invoke(of, line)); }},
      {.name = name + "_lo", .value = via(of, &Ratio::lo)},
      {.name = name + "_hi", .value = via(of, &Ratio::hi)}};
}

// What may be known by bounds alone: NAME, NAME_lo, NAME_hi; for people one column, `text` of a
// line. `of`: the bounded number of a line, a member or a function.
template <typename Line, typename Of, typename Text>
Columns<Line> bounded_columns(const std::string& name, const std::string& header, Of of,
                              Text text) {
  return {{name, header, via(of, &Bounded::value), text},
          {.name = name + "_lo", .value = via(of, &Bounded::lo)},
          {.name = name + "_hi", .value = via(of, &Bounded::hi)}};
}

// The speedup over the stock step, to people where some row has it; for programs also why a row has
// none. RowSet::stock_note stands below.
template <typename Line>
Columns<Line> stock_columns(const RowSet& set) {
  auto columns = ratio_columns<Line>("speedup_vs_stock", "speedup vs stock",
                                     [](const Line& line) { return row_of(line).vs_stock; });
  columns.front().shown = set.has_stock();
  columns.push_back(
      {.name = "speedup_vs_stock_missing", .value = via(row_of<Line>, &Row::no_vs_stock)});
  return columns;
}

// The speedup over the best exact step, and beside it over the stock step.
template <typename Line>
Columns<Line> speedup_columns(const RowSet& set) {
  auto columns = ratio_columns<Line>("speedup", "speedup vs exact",
                                     [](const Line& line) { return row_of(line).speedup; });
  append(columns, stock_columns<Line>(set));
  return columns;
}

// How much of a saving of work became one of time: REALISATION, REALISATION_lo, REALISATION_hi, for
// programs.
template <typename Line>
Columns<Line> realisation_columns() {
  const auto realisation = [](const Line& line) { return row_of(line).realisation; };
  return {{.name = "realisation", .value = via(realisation, &Realisation::value)},
          {.name = "realisation_lo", .value = via(realisation, &Realisation::lo)},
          {.name = "realisation_hi", .value = via(realisation, &Realisation::hi)}};
}

}  // namespace approx
