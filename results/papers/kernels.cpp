#include "results/papers/kernels.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <vector>

#include "base/error.h"
#include "results/papers/footnotes.h"
#include "results/papers/line.h"
#include "results/rows/memory_limit.h"
#include "results/rows/rows.h"

namespace approx {
namespace {

constexpr const char* kNoBenchmark = "no benchmark of it in the store";

// One method on one shape in a stored benchmark.
struct KernelResult {
  std::string op, method, variant, device, precision, verdict, reason;
  std::string label;  // of the method, as people read it
  int64_t threads = 1;
  std::optional<double> ns, baseline_ns, plan_ns, ratio, lo, hi, bytes;
  std::optional<MemoryLimit> memory;  // by which the bytes are limited
  int64_t n = 0;                      // samples
  bool chosen = false;                // what a layer takes of the method
};

struct KernelShape {
  std::string label;
  std::vector<KernelResult> results;
};

// Of a row of the query of stored_shapes.
std::optional<MemoryLimit> stored_limit(SQLite::Statement& row) {
  const auto json = [&](int column) {
    return Json::parse(text_at(row, column), nullptr, /*allow_exceptions=*/false);
  };
  const Json shape = json(1), environment = json(17);
  return memory_limit(optional_real(row.getColumn(14)),
                      /*cold=*/shape.is_object() && shape.contains("cold"),
                      optional_real(row.getColumn(15)), l2_of(environment));
}

// The shape of that label; a new one goes behind the others.
KernelShape& shape_of(std::vector<KernelShape>& shapes, const std::string& label) {
  const auto found = std::find_if(shapes.begin(), shapes.end(),
                                  [&](const auto& shape) { return shape.label == label; });
  return found != shapes.end() ? *found : shapes.emplace_back(KernelShape{.label = label});
}

// Those of the paper in its order, then what else was measured in the last benchmark of each
// precision.
std::vector<KernelShape> stored_shapes(const Snapshot& snapshot, const Experiment& layout,
                                       const Experiment& shown) {
  std::vector<KernelShape> shapes;
  for (const auto& label : layout.paper.labels) shapes.push_back({.label = label});
  for_each_row(
      snapshot.db(),
      "SELECT label, shape, method, variant, verdict, reason, ns_median, baseline_ns_median, "
      "plan_ns, ratio, ratio_lo, ratio_hi, n, precision, bytes, memory_gbs, chosen, "
      "(SELECT environment FROM kernel_run r WHERE r.kernel_run_id = v.kernel_run_id), "
      "op, device, threads FROM v_kernel v "
      "WHERE method <> 'dense' AND kernel_run_id = (SELECT max(kernel_run_id) FROM v_kernel x "
      "WHERE x.experiment = ? AND x.precision = v.precision) ORDER BY kernel_case_id",
      [&](SQLite::Statement& row) {
        const std::string label = text_at(row, 0);
        shape_of(shapes, label.empty() ? text_at(row, 1) : label)
            .results.push_back({.op = text_at(row, 18),
                                .method = text_at(row, 2),
                                .variant = text_at(row, 3),
                                .device = text_at(row, 19),
                                .precision = text_at(row, 13),
                                .verdict = text_at(row, 4),
                                .reason = text_at(row, 5),
                                .label = fmt::format("{}, {}", text_at(row, 2), text_at(row, 3)),
                                .threads = row.getColumn(20).getInt64(),
                                .ns = optional_real(row.getColumn(6)),
                                .baseline_ns = optional_real(row.getColumn(7)),
                                .plan_ns = optional_real(row.getColumn(8)),
                                .ratio = optional_real(row.getColumn(9)),
                                .lo = optional_real(row.getColumn(10)),
                                .hi = optional_real(row.getColumn(11)),
                                .bytes = optional_real(row.getColumn(14)),
                                .memory = stored_limit(row),
                                .n = row.getColumn(12).getInt64(),
                                .chosen = row.getColumn(16).getInt64() != 0});
      },
      shown.id);
  return shapes;
}

// What a benchmark has of a number of the paper: a speedup, or the time, in ms, of what the number
// defines as dense or approximated.
Measured of_kernel(const ReportedValue& value, const KernelResult& result) {
  Measured measured;
  const auto take = [&](const std::optional<double>& number, double unit) {
    if (!number) return;
    measured.n = 1;
    measured.value = *number / unit;
  };
  if (value.quantity == PaperQuantity::kSpeedup) {
    take(result.ratio, 1);
    measured.lo = result.lo, measured.hi = result.hi;
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
    line.measured = of_kernel(value, shape.results.front());
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
  size_t index = 0;                      // of the shape
  const KernelResult* result = nullptr;  // nullptr for a shape without any

  bool is_first() const { return result == nullptr || result == &shape->results.front(); }
};

std::string kernel_ms_text(const std::optional<double>& ns) {
  return ns ? fixed(*ns / 1e6, 3) : std::string("–");
}

std::string kernel_speedup_text(const KernelResult& result, Footnotes& footnotes) {
  const std::string mark = footnotes.mark(result.reason);
  if (!result.ratio || !result.lo) return result.verdict + mark;
  return fmt::format("{:.2f}× [{:.2f}, {:.2f}], {}{}", *result.ratio, *result.lo, *result.hi,
                     result.verdict, mark);
}

Columns<KernelTextLine> kernel_text_columns(const ItemReport& paper, Footnotes& footnotes) {
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
  columns.push_back({.header = "ours: method", .text = [&footnotes](const Line& line) {
                       return line.result != nullptr ? line.result->label
                                                     : std::string(name(Verdict::kNotRun)) +
                                                           footnotes.mark(kNoBenchmark);
                     }});
  ours("exact, ms", [](const KernelResult& result) { return kernel_ms_text(result.baseline_ns); });
  ours("approximated, ms", [](const KernelResult& result) { return kernel_ms_text(result.ns); });
  ours("of it choosing, ms",
       [](const KernelResult& result) { return kernel_ms_text(result.plan_ns); });
  ours("speedup",
       [&footnotes](const KernelResult& result) { return kernel_speedup_text(result, footnotes); });
  return columns;
}

// The least and the largest of some shares.
struct ShareRange {
  std::optional<double> least, most;

  void add(double share) {
    least = std::min(least.value_or(share), share);
    most = std::max(most.value_or(share), share);
  }
};

// How the variants that layers take did in one precision, over all shapes.
struct PrecisionSummary {
  int64_t shapes = 0, faster = 0, slower = 0;
  double log_ratios = 0;
  std::map<MemoryLevel, ShareRange> memory;  // of what a copy does

  void add(const KernelResult& result) {
    ++shapes;
    faster += result.verdict == "faster" ? 1 : 0;
    slower += result.verdict == "slower" ? 1 : 0;
    log_ratios += std::log(*result.ratio);
    if (!result.memory || !result.ns) return;
    memory[result.memory->level].add(share_of(*result.memory, *result.bytes, *result.ns));
  }

  std::string text(const std::string& precision) const {
    std::string text = fmt::format(
        "{}: what a layer takes is faster than the fastest exact path on {} of {} shapes, slower "
        "on "
        "{}; geometric mean {:.2f}×",
        precision, faster, shapes, slower, std::exp(log_ratios / static_cast<double>(shapes)));
    std::vector<std::string> shares;
    for (const auto& [level, range] : memory) {
      shares.push_back(fmt::format("{:.0f} to {:.0f} % of a copy's rate in {}", 100 * *range.least,
                                   100 * *range.most,
                                   level == MemoryLevel::kL2 ? "the L2" : "memory"));
    }
    if (shares.empty()) return text;
    return fmt::format("{}; the bytes that it must move take {}", text, fmt::join(shares, " and "));
  }
};

std::vector<std::string> summary_notes(const std::vector<KernelShape>& shapes) {
  std::vector<std::pair<std::string, PrecisionSummary>> summaries;  // in the order of the results
  for (const auto& shape : shapes) {
    for (const auto& result : shape.results) {
      if (!result.chosen || !result.ratio || *result.ratio <= 0) continue;
      auto found = std::ranges::find(summaries, result.precision,
                                     &std::pair<std::string, PrecisionSummary>::first);
      if (found == summaries.end()) {
        found = summaries.insert(found, {result.precision, PrecisionSummary()});
      }
      found->second.add(result);
    }
  }
  std::vector<std::string> notes;
  for (const auto& [precision, summary] : summaries) notes.push_back(summary.text(precision));
  return notes;
}

// Which precision a result is in is said where there are several.
void name_precisions(std::vector<KernelShape>& shapes) {
  std::set<std::string> precisions;
  for (const auto& shape : shapes) {
    for (const auto& result : shape.results) precisions.insert(result.precision);
  }
  if (precisions.size() < 2) return;
  for (auto& shape : shapes) {
    for (auto& result : shape.results) result.label += ", " + result.precision;
  }
}

// The columns of `report kernels` that its figure is drawn from.
Columns<KernelTextLine> figure_columns() {
  using Line = KernelTextLine;
  const auto text = [](std::string KernelResult::*member) {
    return [member](const Line& line) { return Field(line.result->*member); };
  };
  const auto real = [](std::optional<double> KernelResult::*member) {
    return [member](const Line& line) { return field(line.result->*member); };
  };
  return {
      {.name = "op", .value = text(&KernelResult::op)},
      {.name = "shape", .value = [](const Line& line) { return Field(line.shape->label); }},
      {.name = "epoch", .value = [](const Line&) { return Field(); }},
      {.name = "method", .value = text(&KernelResult::method)},
      {.name = "variant", .value = text(&KernelResult::variant)},
      {.name = "device", .value = text(&KernelResult::device)},
      {.name = "precision", .value = text(&KernelResult::precision)},
      {.name = "threads", .value = [](const Line& line) { return Field(line.result->threads); }},
      {.name = "speedup", .value = real(&KernelResult::ratio)},
      {.name = "speedup_lo", .value = real(&KernelResult::lo)},
      {.name = "speedup_hi", .value = real(&KernelResult::hi)}};
}

}  // namespace

Table paper_kernels_table(const Snapshot& snapshot, const Experiment& layout,
                          const Experiment& shown) {
  auto shapes = stored_shapes(snapshot, layout, shown);
  name_precisions(shapes);
  std::vector<PaperLine> lines;
  std::vector<KernelTextLine> read;
  for (size_t i = 0; i < shapes.size(); ++i) {
    for (const auto& value : layout.paper.values) {
      lines.push_back(kernel_paper_line(layout, shown, value, shapes[i], i));
    }
    if (shapes[i].results.empty()) read.push_back({.shape = &shapes[i], .index = i});
    for (const auto& result : shapes[i].results) {
      read.push_back({.shape = &shapes[i], .index = i, .result = &result});
    }
  }
  Footnotes footnotes;
  Table table = paper_table(item_title(shown));
  fill(table, paper_columns(), lines);
  fill_texts(table, kernel_text_columns(layout.paper, footnotes), read);
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
    for (const auto& result : shape.results) lines.push_back({.shape = &shape, .result = &result});
  }
  Table table = paper_table("");
  fill(table, figure_columns(), lines);
  return table;
}

}  // namespace approx
