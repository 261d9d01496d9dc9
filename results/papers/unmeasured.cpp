#include "results/papers/unmeasured.h"

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
  return {{.name = "network", .value = [](const Line& line) { return line.network->label; }},
          {.name = "schedule", .value = [](const Line& line) { return line.schedule->label; }},
          {.name = "rule", .value = &Line::number},
          {.name = "layers", .value = [](const Line& line) { return line.rule->layers; }},
          {.name = "steps", .value = [](const Line& line) { return line.rule->steps; }},
          {.name = "method",
           .value =
               [](const Line& line) {
                 return line.rule->method.empty() ? "the run's" : line.rule->method;
               }},
          {.name = "from", .value = [](const Line& line) { return line.rule->from; }},
          {.name = "until", .value = [](const Line& line) { return line.rule->until; }}};
}

// Those of every paper, and for people three.
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

}  // namespace

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

}  // namespace approx
