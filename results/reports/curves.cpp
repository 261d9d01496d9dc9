#include "results/reports/curves.h"

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

void add_lines_of(const Row& row, const Measurements& measured, std::vector<CurveLine>& lines) {
  const std::pair<const char*, const Curves*> metrics[] = {{"accuracy", &measured.accuracy},
                                                           {"loss", &measured.loss}};
  std::map<std::tuple<std::string, std::string, int64_t>, PointValues> values;
  for (const auto& [cell, run] : accuracy_runs(row, /*diverged=*/true)) {
    for (const auto& [metric, curves] : metrics) {
      const auto first = curves->lower_bound({run->run_id, ""});
      for (auto curve = first; curve != curves->end() && curve->first.first == run->run_id;
           ++curve) {
        for (const auto& point : curve->second) {
          auto& [epoch, list] = values[{metric, curve->first.second, point.step}];
          epoch = point.epoch;
          list.push_back(point.value);
        }
      }
    }
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

}  // namespace

Table curves_table(const RowSet& set) {
  std::vector<CurveLine> lines;
  for (const auto& row : set.rows()) add_lines_of(row, set.measured(), lines);

  auto columns = without_headers(row_columns<CurveLine>(set).all());
  append(columns,
         {{.name = "metric", .value = &CurveLine::metric},
          {.name = "split", .value = &CurveLine::split},
          {.name = "epoch", .value = &CurveLine::epoch},
          {.name = "step", .value = &CurveLine::step},
          {.name = "n", .value = [](const CurveLine& line) { return line.summary.n; }},
          {.name = "mean", .value = [](const CurveLine& line) { return line.summary.mean; }},
          {.name = "lo", .value = [](const CurveLine& line) { return end_of(line.summary, -1); }},
          {.name = "hi", .value = [](const CurveLine& line) { return end_of(line.summary, 1); }},
          {.name = "min", .value = &CurveLine::least},
          {.name = "max", .value = &CurveLine::most}});
  Table table;
  table.name = "curves";
  fill(table, columns, lines);
  return table;
}

Table report_curves(const Snapshot& snapshot, const ReportOptions& options) {
  Table table = curves_table(RowSet(snapshot, options, RowSet::Depth::kGrouped));
  table.title = options.experiment;
  return table;
}

REGISTER_REPORT("curves", report_curves)
    .at(5)
    .about("Accuracy and loss over the epochs")
    .made_of("accuracy runs (train, sweep)")
    .drawn_by("curves");

}  // namespace approx
