// Columns that several reports share: the labels of a line, and its measured quantities.
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

// The row that a line of a report is about. The line is a Row, or has a pointer `row`.
template <typename Line>
const Row& row_of(const Line& line) {
  if constexpr (std::is_same_v<Line, Row>) {
    return line;
  } else {
    return *line.row;
  }
}

// The notes on a line: its own, or those of its row.
template <typename Line>
const Notes& notes_of(const Line& line) {
  if constexpr (requires { line.notes; }) {
    return line.notes;
  } else {
    return line.row->notes;
  }
}

// The letters of the notes of all lines of a table. Notes in `without` get no letter there.
template <typename Line>
NoteLetters letters_of(const std::vector<Line>& lines, const std::set<Note>& without = {},
                       char first = 'a') {
  std::vector<Notes> notes;
  for (const auto& line : lines) notes.push_back(notes_of(line));
  return {notes, first, without};
}

// The column of notes for programs. `letters` must outlive the column.
template <typename Line>
Column<Line> notes_column(const NoteLetters& letters) {
  return {.name = "notes",
          .value = [&letters](const Line& line) { return letters.names(notes_of(line)); }};
}

// The columns that identify the rows of a table.
template <typename Line>
struct RowColumns {
  Column<Line> network, dataset, setting, tuned_rate, schedule, method;

  Columns<Line> all() const { return {network, dataset, setting, tuned_rate, schedule, method}; }
};

// Makes the columns that identify a row. For people, `letters` marks the methods with their notes.
// `set` and `letters` must outlive the columns.
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

// A column of numbers. People read them by a format such as "{:.2f} s", or as a dash where there is
// none. `of` is a member of a line, or a function of it.
template <typename Line, typename Of>
Column<Line> number_column(const char* name, const char* header, Of of, const char* format) {
  return {name, header, via(of),
          [=](const Line& line) { return number_text(via(of)(line), format); }};
}

// The columns NAME and NAME_half: the mean of a summary and the half width of its interval. For
// people both are one column with two decimals. `of`, a member or a function, gives the summary of
// a line.
template <typename Line, typename Of>
Columns<Line> summary_columns(const std::string& name, const std::string& header, Of of) {
  return {{name, header, via(of),
           [=](const Line& line) { return with_interval(std::invoke(of, line), 2); }},
          {.name = name + "_half", .value = via(of, &Summary::half)}};
}

// The columns NAME, NAME_lo and NAME_hi: a ratio and its interval, for people one column. `of`, a
// member or a function, gives the ratio of a line.
template <typename Line, typename Of>
Columns<Line> ratio_columns(const std::string& name, const std::string& header, Of of) {
  return {
      {name, header, via(of), [=](const Line& line) { return ratio_text(std::invoke(of, line)); }},
      {.name = name + "_lo", .value = via(of, &Ratio::lo)},
      {.name = name + "_hi", .value = via(of, &Ratio::hi)}};
}

// The columns NAME, NAME_lo and NAME_hi of a number for which only bounds may be known. For people
// they are one column with the `text` of a line. `of`, a member or a function, gives the number of
// a line.
template <typename Line, typename Of, typename Text>
Columns<Line> bounded_columns(const std::string& name, const std::string& header, Of of,
                              Text text) {
  return {{name, header, via(of, &Bounded::value), text},
          {.name = name + "_lo", .value = via(of, &Bounded::lo)},
          {.name = name + "_hi", .value = via(of, &Bounded::hi)}};
}

// The speedup over the stock step, for people only if some row has it. Programs also get the reason
// why a row has none. RowSet::stock_note goes below the table.
template <typename Line>
Columns<Line> stock_columns(const RowSet& set) {
  auto columns = ratio_columns<Line>("speedup_vs_stock", "speedup vs stock",
                                     [](const Line& line) { return row_of(line).vs_stock; });
  columns.front().shown = set.has_stock();
  columns.push_back(
      {.name = "speedup_vs_stock_missing", .value = via(row_of<Line>, &Row::no_vs_stock)});
  return columns;
}

// The speedup over the best exact step and the speedup over the stock step.
template <typename Line>
Columns<Line> speedup_columns(const RowSet& set) {
  auto columns = ratio_columns<Line>("speedup", "speedup vs exact",
                                     [](const Line& line) { return row_of(line).speedup; });
  append(columns, stock_columns<Line>(set));
  return columns;
}

// The columns REALISATION, REALISATION_lo and REALISATION_hi for programs: the share of the saved
// work that became saved time.
template <typename Line>
Columns<Line> realisation_columns() {
  const auto realisation = [](const Line& line) { return row_of(line).realisation; };
  return {{.name = "realisation", .value = via(realisation, &Realisation::value)},
          {.name = "realisation_lo", .value = via(realisation, &Realisation::lo)},
          {.name = "realisation_hi", .value = via(realisation, &Realisation::hi)}};
}

}  // namespace approx
