#include "results/papers/table.h"

#include <cstdint>
#include <string>
#include <vector>

#include "base/error.h"
#include "results/papers/line.h"

namespace approx {
namespace {

struct PictureLine {
  const Labelled* network = nullptr;
  const LabelledSchedule* schedule = nullptr;
  int64_t number = 0;  // of the rule in its schedule, from 1
  const Rule* rule = nullptr;
};

Columns<PictureLine> picture_columns() {
  using Line = PictureLine;
  const auto of_rule = [](auto of) { return via(&Line::rule, of); };
  const auto method = [](const Rule& rule) {
    return rule.method.empty() ? "the run's" : rule.method;
  };
  return {{.name = "network", .value = via(&Line::network, &Labelled::label)},
          {.name = "schedule", .value = via(&Line::schedule, &LabelledSchedule::label)},
          {.name = "rule", .value = &Line::number},
          {.name = "layers", .value = of_rule(&Rule::layers)},
          {.name = "steps", .value = of_rule(&Rule::steps)},
          {.name = "method", .value = of_rule(method)},
          {.name = "from", .value = of_rule(&Rule::from)},
          {.name = "until", .value = of_rule(&Rule::until)}};
}

// The columns of every paper, and three that are for people alone.
Columns<PaperLine> not_run_columns(const ItemReport& paper) {
  using Line = PaperLine;
  Columns<Line> columns = paper_columns();
  append(
      columns,
      {{.header = "quantity",
        .text =
            [&paper](const Line& line) {
              if (line.value == nullptr) return paper.item;
              return fmt::format("{}{}{} {} ({})", line.row, line.row.empty() ? "" : ": ",
                                 name(line.value->quantity), line.value->unit,
                                 name(line.value->basis));
            }},
       {.header = "printed in the paper",
        .text = [](const Line& line) { return line.value == nullptr ? "–" : line.number.printed; }},
       {.header = "ours", .text = [](const Line& line) { return verdict_text(line.judgement); }}});
  return columns;
}

// A picture of a schedule: its rules.
Table paper_picture_table(const Experiment& layout, const PictureItem& picture) {
  std::vector<PictureLine> lines;
  for (const auto& network : picture.networks) {
    for (const auto& schedule : picture.schedules) {
      int64_t number = 0;
      for (const auto& rule : schedule.rules) {
        lines.push_back({&network, &schedule, ++number, &rule});
      }
    }
  }
  Table table = paper_table(layout.title);
  fill(table, picture_columns(), lines);
  table.notes = finding_notes(layout, layout);
  add_notes(table, {"drawn layer by step with --format svg"});
  return table;
}

// What nothing of ours computes yet: what the paper prints, and why.
Table paper_not_run_table(const Experiment& layout, const NotRunItem& item) {
  std::vector<PaperLine> lines;
  PaperLine line{.item = layout.item};
  line.judgement = {Verdict::kNotRun, item.why};
  for (const auto& value : layout.paper.values) {
    line.value = &value;
    for (size_t row = 0; row < value.paper.size(); ++row) {
      line.row = row < layout.paper.labels.size() ? layout.paper.labels[row] : "";
      for (const auto& number : value.paper[row]) {
        line.number = number;
        lines.push_back(line);
      }
    }
  }
  if (lines.empty()) {
    line.value = nullptr;
    lines.push_back(line);
  }
  Table table = paper_table(layout.title);
  fill(table, not_run_columns(layout.paper), lines);
  table.notes = finding_notes(layout, layout);
  add_notes(table, {"NOT RUN: " + item.why});
  return table;
}

}  // namespace

Table report_paper(const Snapshot& snapshot, const Experiment& layout, const Experiment& shown,
                   const ReportOptions& options) {
  if (layout.as<KernelItem>()) return paper_kernels_table(snapshot, layout, shown);
  if (layout.as<StudyItem>()) return paper_study_table(snapshot, layout, shown);
  if (const auto* picture = layout.as<PictureItem>()) return paper_picture_table(layout, *picture);
  if (const auto* not_run = layout.as<NotRunItem>()) return paper_not_run_table(layout, *not_run);
  return paper_runs_table(snapshot, layout, shown, options);
}

}  // namespace approx
