// Columns that several reports have: what a line is about, and its measured quantities.
#pragma once

#include <functional>
#include <string>

#include "results/render/column.h"
#include "results/rows/rows.h"

namespace approx {

// The row that a line of a report is about, which the line has as `row` or is.
inline const Row& row_of(const Row& row) { return row; }
template <typename Line>
const Row& row_of(const Line& line) {
  return *line.row;
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
      .network = {.name = "network",
                  .header = "network",
                  .value = [=](const Line& line) { return cell(line).network_label; }},
      .dataset = {.name = "dataset",
                  .header = "data set",
                  .value = [=](const Line& line) { return cell(line).config.dataset; }},
      .setting = {.name = "setting",
                  .header = "setting",
                  .value = [&set](const Line& line) { return set.setting(row_of(line)); },
                  .shown = set.settings_differ()},
      .tuned_rate = {.name = "tuned_rate",
                     .header = "tuned rate",
                     .value = [](const Line& line) { return RowSet::tuned_rate(row_of(line)); },
                     .shown = set.tuned_rates_differ()},
      .schedule = {.name = "schedule",
                   .header = "schedule",
                   .value = [=](const Line& line) { return cell(line).schedule_label; }},
      .method = {.name = "method",
                 .header = "method",
                 .value = [=](const Line& line) { return cell(line).method_label; },
                 .text =
                     [=](const Line& line) {
                       return cell(line).method_label +
                              (letters != nullptr ? letters->marks(row_of(line).notes) : "");
                     }},
  };
}

// The mean of a summary and the half width of its interval: NAME, NAME_half. For people both are
// one column, with two decimals. `of`: the summary of a line, a member or a function.
template <typename Line, typename Of>
Columns<Line> summary_columns(const std::string& name, const std::string& header, Of of) {
  return {{.name = name,
           .header = header,
           .value = [=](const Line& line) { return mean_field(std::invoke(of, line)); },
           .text = [=](const Line& line) { return with_interval(std::invoke(of, line), 2); }},
          {.name = name + "_half",
           .value = [=](const Line& line) { return field(std::invoke(of, line).half); }}};
}

// A ratio and its interval: NAME, NAME_lo, NAME_hi; for people one column. `of`: the ratio of a
// line, a member or a function.
template <typename Line, typename Of>
Columns<Line> ratio_columns(const std::string& name, const std::string& header, Of of) {
  return {{.name = name,
           .header = header,
           .value = [=](const Line& line) { return ratio_field(std::invoke(of, line)); },
           .text = [=](const Line& line) { return ratio_text(std::invoke(of, line)); }},
          {.name = name + "_lo",
           .value = [=](const Line& line) { return field(std::invoke(of, line).lo); }},
          {.name = name + "_hi",
           .value = [=](const Line& line) { return field(std::invoke(of, line).hi); }}};
}

// The speedup over the stock step, to people where some row has it; for programs also why a row has
// none. RowSet::stock_note stands below.
template <typename Line>
Columns<Line> stock_columns(const RowSet& set) {
  auto columns = ratio_columns<Line>("speedup_vs_stock", "speedup vs stock",
                                     [](const Line& line) { return row_of(line).vs_stock; });
  columns.front().shown = set.has_stock();
  append(columns, {{.name = "speedup_vs_stock_missing",
                    .value = [](const Line& line) { return row_of(line).no_vs_stock; }}});
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

}  // namespace approx
