// A table or figure of a paper that kernel benchmarks answer.
#include "results/records/kernels.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <vector>

#include "base/error.h"
#include "results/papers/line.h"
#include "results/papers/table.h"
#include "results/rows/rows.h"

namespace approx {
namespace {

constexpr const char* kNoBenchmark = "no benchmark of it in the store";

struct KernelShape {
  std::string label;
  std::vector<const KernelLine*> results;
};

// The shape of that label; a new one goes behind the others.
KernelShape& shape_of(std::vector<KernelShape>& shapes, const std::string& label) {
  const auto found = std::ranges::find(shapes, label, &KernelShape::label);
  return found != shapes.end() ? *found : shapes.emplace_back(KernelShape{.label = label});
}

// Those of the paper in its order, then what else was measured in the last benchmark of each
// precision.
std::vector<KernelShape> stored_shapes(const Snapshot& snapshot, const Experiment& layout,
                                       const Experiment& shown) {
  std::vector<KernelShape> shapes;
  for (const auto& label : layout.paper.labels) shapes.push_back({.label = label});
  std::map<std::string, int64_t> last;  // benchmark of a precision
  for (const auto& line : snapshot.kernels()) {
    if (line.experiment != shown.id) continue;
    int64_t& run = last[line.precision];
    run = std::max(run, line.run_id);
  }
  for (const auto& line : snapshot.kernels()) {
    if (line.experiment != shown.id || line.run_id != last[line.precision]) continue;
    if (!line.approximates()) continue;
    shape_of(shapes, line.label.empty() ? line.shape_text : line.label).results.push_back(&line);
  }
  return shapes;
}

// What a benchmark has of a number of the paper: a speedup, or the time, in ms, of what the number
// defines as dense or approximated.
Measured of_kernel(const ReportedValue& value, const KernelLine& result) {
  Measured measured;
  const auto take = [&](const std::optional<double>& number, double unit) {
    if (!number) return;
    measured.n = 1;
    measured.value = *number / unit;
  };
  if (value.quantity == PaperQuantity::kSpeedup) {
    take(result.ratio, 1);
    measured.lo = result.ratio_lo, measured.hi = result.ratio_hi;
  } else if (value.quantity == PaperQuantity::kTime && value.unit == "ms") {
    if (value.definition.measure == Measure::kDense) take(result.baseline_ns, 1e6);
    if (value.definition.measure == Measure::kApproximated) take(result.ns, 1e6);
  }
  if (measured.n == 0) measured.why_none = result.reason.empty() ? result.verdict : result.reason;
  return measured;
}

// What the paper prints of a quantity for its shape number `index`.
ReportedNumber reported_at(const ReportedValue& value, size_t index) {
  const bool any = index < value.paper.size() && !value.paper[index].empty();
  return any ? value.paper[index][0] : ReportedNumber();
}

PaperLine kernel_paper_line(const Experiment& layout, const Experiment& shown,
                            const ReportedValue& value, const KernelShape& shape, size_t index) {
  PaperLine line{.item = shown.item,
                 .scale = shown.scale,
                 .row = shape.label,
                 .value = &value,
                 .number = reported_at(value, index)};
  if (!value.not_run.empty()) {
    line.measured.why_none = value.not_run;
  } else if (shape.results.empty()) {
    line.measured.why_none = kNoBenchmark;
  } else {
    line.measured = of_kernel(value, *shape.results.front());
  }
  if (line.number.value || line.measured.n > 0) {
    line.judgement = judge(value, line.number.value, line.measured,
                           {.scale = shown.scale, .margin = layout.paper.margin});
  }
  return line;
}

// What people read: a line for each method on a shape, the paper's numbers beside the first.
struct KernelTextLine {
  const KernelShape* shape = nullptr;
  size_t index = 0;                    // of the shape
  const KernelLine* result = nullptr;  // nullptr for a shape without any

  bool is_first() const { return result == nullptr || result == shape->results.front(); }
};

std::string kernel_speedup_text(const KernelLine& result, Footnotes& footnotes) {
  const std::string mark = footnotes.mark(result.reason);
  if (!result.ratio || !result.ratio_lo) return result.verdict + mark;
  return fmt::format("{:.2f}× [{:.2f}, {:.2f}], {}{}", *result.ratio, *result.ratio_lo,
                     *result.ratio_hi, result.verdict, mark);
}

Columns<KernelTextLine> kernel_text_columns(const ItemReport& paper, bool with_precision,
                                            Footnotes& footnotes) {
  using Line = KernelTextLine;
  Columns<Line> columns = {{.header = "shape", .text = [](const Line& line) {
                              return line.is_first() ? line.shape->label : "";
                            }}};
  for (const auto& value : paper.values) {
    std::string header =
        value.definition.text.empty() ? std::string(name(value.quantity)) : value.definition.text;
    if (!value.unit.empty()) header += ", " + value.unit;
    columns.push_back({.header = std::move(header), .text = [&value](const Line& line) {
                         return line.is_first() ? reported_at(value, line.index).printed : "";
                       }});
  }
  const auto ours = [&](const char* what, auto text) {
    columns.push_back({.header = fmt::format("ours: {}", what), .text = [text](const Line& line) {
                         return line.result == nullptr ? std::string() : text(*line.result);
                       }});
  };
  columns.push_back({.header = "ours: method", .text = [=, &footnotes](const Line& line) {
                       const auto* result = line.result;
                       if (result == nullptr) {
                         return std::string(name(Verdict::kNotRun)) + footnotes.mark(kNoBenchmark);
                       }
                       return fmt::format("{}, {}{}{}", result->method, result->variant,
                                          with_precision ? ", " : "",
                                          with_precision ? result->precision : "");
                     }});
  const auto ms = [&](const char* what, std::optional<double> KernelLine::*ns) {
    ours(what, [ns](const KernelLine& result) {
      return result.*ns ? fixed(*(result.*ns) / 1e6, 3) : std::string("–");
    });
  };
  ms("exact, ms", &KernelLine::baseline_ns);
  ms("approximated, ms", &KernelLine::ns);
  ms("choosing alone, ms", &KernelLine::plan_ns);
  ours("speedup",
       [&footnotes](const KernelLine& result) { return kernel_speedup_text(result, footnotes); });
  return columns;
}

// How the variants that layers take did in one precision, over all shapes.
struct PrecisionSummary {
  int64_t shapes = 0, faster = 0, slower = 0;
  double log_ratios = 0;
  std::map<MemoryLevel, std::vector<double>> memory;  // shares of what a copy does

  void add(const KernelLine& result) {
    ++shapes;
    faster += result.verdict == "faster" ? 1 : 0;
    slower += result.verdict == "slower" ? 1 : 0;
    log_ratios += std::log(*result.ratio);
    const auto limit = result.memory_limit();
    if (!limit || !result.ns) return;
    memory[limit->level].push_back(share_of(*limit, *result.bytes, *result.ns));
  }

  std::string text(const std::string& precision) const {
    std::string text = fmt::format(
        "{}: what a layer takes is faster than the fastest exact path on {} of {} shapes, slower "
        "on {}; geometric mean {:.2f}×",
        precision, faster, shapes, slower, std::exp(log_ratios / static_cast<double>(shapes)));
    std::vector<std::string> shares;
    for (const auto& [level, values] : memory) {
      const auto [least, most] = std::ranges::minmax(values);
      shares.push_back(fmt::format("{:.0f} to {:.0f} % of a copy's rate in {}", 100 * least,
                                   100 * most, level == MemoryLevel::kL2 ? "the L2" : "memory"));
    }
    if (shares.empty()) return text;
    return fmt::format("{}; the bytes that it must move take {}", text, fmt::join(shares, " and "));
  }
};

std::vector<std::string> summary_notes(const std::vector<KernelShape>& shapes) {
  std::vector<std::pair<std::string, PrecisionSummary>> summaries;  // in the order of the results
  for (const auto& shape : shapes) {
    for (const auto* result : shape.results) {
      if (!result->chosen.value_or(false) || !result->ratio || *result->ratio <= 0) continue;
      auto found = std::ranges::find(summaries, result->precision,
                                     &std::pair<std::string, PrecisionSummary>::first);
      if (found == summaries.end()) {
        found = summaries.insert(found, {result->precision, PrecisionSummary()});
      }
      found->second.add(*result);
    }
  }
  std::vector<std::string> notes;
  for (const auto& [precision, summary] : summaries) notes.push_back(summary.text(precision));
  return notes;
}

// Whether the results are in several precisions.
bool precisions_differ(const std::vector<KernelShape>& shapes) {
  std::set<std::string> precisions;
  for (const auto& shape : shapes) {
    for (const auto* result : shape.results) precisions.insert(result->precision);
  }
  return precisions.size() > 1;
}

// The columns of `report kernels` that its figure is drawn from.
Columns<KernelTextLine> figure_columns() {
  using Line = KernelTextLine;
  const auto of = [](auto member) { return via(&Line::result, member); };
  return {{.name = "op", .value = of(&KernelLine::op)},
          {.name = "shape", .value = via(&Line::shape, &KernelShape::label)},
          {.name = "epoch", .value = [](const Line&) { return Field(); }},
          {.name = "method", .value = of(&KernelLine::method)},
          {.name = "variant", .value = of(&KernelLine::variant)},
          {.name = "device", .value = of(&KernelLine::device)},
          {.name = "precision", .value = of(&KernelLine::precision)},
          {.name = "threads", .value = of(&KernelLine::threads)},
          {.name = "speedup", .value = of(&KernelLine::ratio)},
          {.name = "speedup_lo", .value = of(&KernelLine::ratio_lo)},
          {.name = "speedup_hi", .value = of(&KernelLine::ratio_hi)}};
}

}  // namespace

Table paper_kernels_table(const Snapshot& snapshot, const Experiment& layout,
                          const Experiment& shown) {
  const auto shapes = stored_shapes(snapshot, layout, shown);
  std::vector<PaperLine> lines;
  std::vector<KernelTextLine> read;
  for (size_t i = 0; i < shapes.size(); ++i) {
    for (const auto& value : layout.paper.values) {
      lines.push_back(kernel_paper_line(layout, shown, value, shapes[i], i));
    }
    if (shapes[i].results.empty()) read.push_back({.shape = &shapes[i], .index = i});
    for (const auto* result : shapes[i].results) {
      read.push_back({.shape = &shapes[i], .index = i, .result = result});
    }
  }
  Footnotes footnotes;
  Table table = paper_table(item_title(shown));
  fill(table, paper_columns(), lines);
  fill_texts(table, kernel_text_columns(layout.paper, precisions_differ(shapes), footnotes), read);
  table.notes = finding_notes(layout, shown);
  add_notes(table, footnotes.lines());
  add_notes(table, summary_notes(shapes));
  add_notes(table, {"ours: medians; speedup of one product with its 95 % interval, choosing "
                    "included. Times of different machines are NOT COMPARABLE"});
  return table;
}

Table paper_kernels_figure(const Snapshot& snapshot, const Experiment& layout,
                           const Experiment& shown) {
  const auto shapes = stored_shapes(snapshot, layout, shown);
  std::vector<KernelTextLine> lines;
  for (const auto& shape : shapes) {
    for (const auto* result : shape.results) lines.push_back({.shape = &shape, .result = result});
  }
  Table table = paper_table("");
  fill(table, figure_columns(), lines);
  return table;
}

}  // namespace approx
