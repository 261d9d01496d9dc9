// What the ranks of trainings sent to each other.
#include <map>
#include <vector>

#include "results/reports/layers.h"
#include "results/reports/report.h"
#include "results/rows/row_columns.h"
#include "results/rows/rows.h"

namespace approx {
namespace {

// One module of a network; sums over the runs of a row.
struct TrafficLine {
  const Row* row = nullptr;
  int64_t index = 0;  // from 1
  std::string layer;
  double calls = 0, bytes = 0, bytes_dense = 0;
  int64_t runs = 0;
};

// Those of a row that counted what they sent: its trainings, or without any its timing runs.
CellRuns counted_runs(const Row& row) {
  CellRuns runs;
  for (const Purpose purpose : {Purpose::kAccuracy, Purpose::kTiming}) {
    if (runs.empty()) runs = runs_of(row, purpose, /*diverged=*/true);
    std::erase_if(runs, [](const CellRun& of) { return of.run->measured->traffic.empty(); });
  }
  return runs;
}

// The lines of a row, by their modules' positions.
std::vector<TrafficLine> lines_of(const Row& row, const Catalogue* catalogue) {
  std::map<std::string, TrafficLine> sums;
  for (const auto& [cell, run] : counted_runs(row)) {
    for (const auto& count : run->measured->traffic) {
      TrafficLine& sum = sums[count.layer];
      sum.calls += static_cast<double>(count.calls);
      sum.bytes += static_cast<double>(count.bytes);
      sum.bytes_dense += static_cast<double>(count.bytes_dense);
      ++sum.runs;
    }
  }
  std::vector<TrafficLine> lines;
  for (auto& [layer, sum] : sums) {
    sum.row = &row;
    sum.layer = layer;
    lines.push_back(std::move(sum));
  }
  order_by_layer(lines, row.first->config.network, catalogue);
  return lines;
}

// A sum of a line over another; nothing where that is 0.
auto quotient(double TrafficLine::*sum, double TrafficLine::*over, double factor = 1) {
  return [=](const TrafficLine& line) {
    return line.*over > 0 ? Field(factor * (line.*sum) / (line.*over)) : Field();
  };
}

auto per_run(double TrafficLine::*sum) {
  return [=](const TrafficLine& line) { return Field(line.*sum / static_cast<double>(line.runs)); };
}

std::string layer_text(const TrafficLine& line) {
  return line.layer.empty() ? "(beside gradients)" : line.layer;
}

Columns<TrafficLine> traffic_columns(const RowSet& set) {
  using Line = TrafficLine;
  const auto whole = [](const char* name, const char* header, auto of) {
    return number_column<Line>(name, header, of, "{:.0f}");
  };
  Columns<Line> columns = row_columns<Line>(set).all();
  append(columns,
         {{.name = "layer_index", .value = &Line::index},
          {.name = "layer", .header = "layer", .value = &Line::layer, .text = layer_text},
          whole("calls", "steps", per_run(&Line::calls)),
          {.name = "bytes", .value = per_run(&Line::bytes)},
          {.name = "bytes_dense", .value = per_run(&Line::bytes_dense)},
          whole("bytes_per_step", "sent, bytes a step", quotient(&Line::bytes, &Line::calls)),
          whole("bytes_dense_per_step", "exact, bytes a step",
                quotient(&Line::bytes_dense, &Line::calls)),
          number_column<Line>("sent_pct", "of exact, %",
                              quotient(&Line::bytes, &Line::bytes_dense, 100), "{:.1f}"),
          {.name = "n", .header = "n", .value = &Line::runs}});
  return columns;
}

// How much less than in exact training all modules together sent.
std::string whole_note(const Row& row, const RowSet& set) {
  const auto reductions = values_of(counted_runs(row), &RunMeasurements::communication_reduction);
  const std::string setting = set.setting(row);
  return fmt::format("{} on {}{}: {}: % fewer bytes than exact training in all: {}",
                     row.first->network_label, row.first->config.dataset,
                     setting.empty() ? "" : ", " + setting, method_text(*row.first),
                     with_interval(summarize(reductions), 2));
}

// One row for each (row of several ranks, module of its network), the mean over its trainings,
// or over its timing runs where it has none: bytes that one rank sends, beside those of exact
// training. Layer "", behind the others, is what goes along with the gradients.
Table report_traffic(const Snapshot& snapshot, const ReportOptions& options) {
  const RowSet set(snapshot, options, RowSet::Depth::kGrouped);
  std::vector<TrafficLine> lines;
  std::vector<std::string> notes;
  for (const auto& row : set.rows()) {
    auto of_row = lines_of(row, options.catalogue);
    if (of_row.empty()) continue;
    for (auto& line : of_row) lines.push_back(std::move(line));
    if (!is_dense(*row.first)) notes.push_back(whole_note(row, set));
  }
  Table table = table_of(options.experiment, traffic_columns(set), lines);
  table.notes = std::move(notes);
  if (lines.empty()) return table;
  table.notes.emplace_back(
      "bytes that one rank sends in a step, over all training steps, the mean over the ranks");
  return table;
}

REGISTER_REPORT("traffic", report_traffic)
    .at(12)
    .without_images()
    .about("Bytes that a rank sends in a step, by layer, beside exact training")
    .made_of("trainings by several ranks (--ranks)");

}  // namespace
}  // namespace approx
