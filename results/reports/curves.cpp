// Learning curves.
#include <algorithm>
#include <map>
#include <tuple>

#include "results/reports/report.h"
#include "results/rows/row_columns.h"

namespace approx {
namespace {

struct CurveLine {
  const Row* row = nullptr;
  std::string metric, split;
  int64_t step = 0;
  double epoch = 0;
  Summary summary;  // over the seeds
  double least = 0, most = 0;
};

// A point of the curve of a row: what each of its runs has there.
struct PointValues {
  double epoch = 0;
  std::vector<double> list;
};

void add_lines_of(const Row& row, std::vector<CurveLine>& lines) {
  std::map<std::tuple<std::string, std::string, int64_t>, PointValues> values;
  for (const auto& [cell, run] : accuracy_runs(row, /*diverged=*/true)) {
    const auto add = [&](const std::string& metric, const Curves& curves) {
      for (const auto& [split, points] : curves) {
        for (const auto& point : points) {
          auto& [epoch, list] = values[{metric, split, point.step}];
          epoch = point.epoch;
          list.push_back(point.value);
        }
      }
    };
    add("accuracy", run->measured->accuracy);
    add("loss", run->measured->loss);
  }
  for (const auto& [key, value] : values) {
    const auto& [metric, split, step] = key;
    const auto [least, most] = std::minmax_element(value.list.begin(), value.list.end());
    lines.push_back({.row = &row,
                     .metric = metric,
                     .split = split,
                     .step = step,
                     .epoch = value.epoch,
                     .summary = summarize(value.list),
                     .least = *least,
                     .most = *most});
  }
}

// An end of the interval of a summary.
Field end_of(const Summary& summary, int sign) {
  return summary.half ? Field(summary.mean + sign * *summary.half) : Field();
}

// Accuracy and loss over the epochs: one row for each (row of the store, metric, split, epoch),
// the mean over the seeds with its t-interval, and the least and the largest.
Table report_curves(const Snapshot& snapshot, const ReportOptions& options) {
  using Line = CurveLine;
  const RowSet set(snapshot, options, RowSet::Depth::kGrouped);
  std::vector<Line> lines;
  for (const auto& row : set.rows()) add_lines_of(row, lines);
  auto columns = without_headers(row_columns<Line>(set).all());
  append(columns,
         {{.name = "metric", .value = &Line::metric},
          {.name = "split", .value = &Line::split},
          {.name = "epoch", .value = &Line::epoch},
          {.name = "step", .value = &Line::step},
          {.name = "n", .value = via(&Line::summary, &Summary::n)},
          {.name = "mean", .value = via(&Line::summary, &Summary::mean)},
          {.name = "lo", .value = [](const Line& line) { return end_of(line.summary, -1); }},
          {.name = "hi", .value = [](const Line& line) { return end_of(line.summary, 1); }},
          {.name = "min", .value = &Line::least},
          {.name = "max", .value = &Line::most}});
  const NoteLetters letters = letters_of(lines);
  append(columns, {notes_column<Line>(letters)});
  return table_of(options.experiment, columns, lines);
}

REGISTER_REPORT("curves", report_curves)
    .at(5)
    .about("Accuracy and loss over the epochs")
    .made_of("accuracy runs (train, sweep)")
    .drawn_by("curves");

}  // namespace
}  // namespace approx
