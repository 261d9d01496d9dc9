#include "results/reports/compare.h"

#include <algorithm>
#include <cmath>
#include <compare>
#include <cstdint>
#include <map>
#include <optional>

#include "base/error.h"
#include "base/numbers.h"
#include "results/render/column.h"
#include "results/reports/contents.h"
#include "results/reports/rows.h"
#include "results/reports/sound_numbers.h"
#include "results/stats/stats.h"

namespace approx {
namespace {

// --- accuracy ---

using BySeed = std::map<int64_t, double>;

BySeed accuracies(const RowSet& set, const Row& row) {
  BySeed values;
  for (const auto* cell : row.cells) {
    if (const auto value = set.final_accuracy(*cell)) values[cell->seed] = *value;
  }
  return values;
}

std::vector<double> without_seeds(const BySeed& by_seed) {
  std::vector<double> values;
  for (const auto& [seed, value] : by_seed) values.push_back(value);
  return values;
}

// Equal runs give equal numbers: where there are too few for an interval, the seeds that both
// stores have still show whether they are equal.
Change change_by_seed(const BySeed& a, const BySeed& b) {
  bool any = false;
  for (const auto& [seed, value] : a) {
    const auto found = b.find(seed);
    if (found == b.end()) continue;
    any = true;
    if (found->second != value) return Change::kDiffers;
  }
  return any ? Change::kSame : Change::kUndecided;
}

// `lo`, `hi`: of the difference, points.
Change change_of_accuracy(double lo, double hi, double margin) {
  if (hi < -margin) return Change::kInferior;
  if (lo > margin) return Change::kBetter;
  return lo > -margin && hi < margin ? Change::kSame : Change::kUndecided;
}

// --- speed ---

// None without a ratio.
std::optional<Change> change_of_speed(const Ratio& ratio) {
  if (ratio.n == 0) return std::nullopt;
  switch (speed_change(ratio)) {
    case SpeedChange::kFaster:
      return Change::kFaster;
    case SpeedChange::kSlower:
      return Change::kSlower;
    case SpeedChange::kSame:
      return Change::kSame;
    case SpeedChange::kUndecided:
      break;
  }
  return Change::kUndecided;
}

// A case of a kernel benchmark; all as text, which is also the order that its rows have.
struct KernelKey {
  std::string op, shape, method, variant, precision, threads, device;

  auto operator<=>(const KernelKey&) const = default;
};

struct KernelRatio {
  std::string what;  // shown
  Ratio ratio;       // against the exact product
};

std::map<KernelKey, KernelRatio> kernel_ratios(const std::string& path) {
  std::map<KernelKey, KernelRatio> kernels;
  auto db = open_snapshot(path);
  for_each_row(
      db,
      "SELECT op, shape, method, variant, precision, threads, device, label, ratio, "
      "ratio_lo, ratio_hi, n, kernel_run_id FROM v_kernel WHERE ratio IS NOT NULL AND method <> "
      "'dense' "
      "ORDER BY kernel_run_id",
      [&](SQLite::Statement& row) {
        const KernelKey key{text_at(row, 0), text_at(row, 1), text_at(row, 2), text_at(row, 3),
                            text_at(row, 4), text_at(row, 5), text_at(row, 6)};
        const std::string label = text_at(row, 7);
        auto& kernel = kernels[key];  // the last run of a case counts
        kernel.what =
            fmt::format("{} {} {}", key.op, label.empty() ? key.shape : label, key.method);
        kernel.ratio = sound_ratio(row.getColumn(11).getInt64(), row.getColumn(8), row.getColumn(9),
                                   row.getColumn(10), {"kernel run", row.getColumn(12).getInt64()});
      });
  return kernels;
}

// --- lines ---

struct CompareLine {
  std::string what;
  std::string quantity, quantity_text;  // for programs, for people
  double a = 0, b = 0, difference = 0;
  std::optional<double> lo, hi;  // of the difference
  std::string a_text, b_text, difference_text;
  std::optional<Change> change;
  int64_t n_a = 0, n_b = 0;
};

CompareLine accuracy_line(const BySeed& a, const BySeed& b, const Margin& margin) {
  const auto before = without_seeds(a), after = without_seeds(b);
  const auto mean_a = summarize(before), mean_b = summarize(after);
  const auto welch = welch_difference(after, before);
  CompareLine line{.quantity = "accuracy_pct",
                   .quantity_text = "accuracy, %",
                   .a = mean_a.mean,
                   .b = mean_b.mean,
                   .difference = welch.difference,
                   .a_text = with_interval(mean_a, 2),
                   .b_text = with_interval(mean_b, 2),
                   .difference_text = fixed(welch.difference, 2),
                   .change = change_by_seed(a, b),
                   .n_a = welch.n_b,
                   .n_b = welch.n_a};
  if (welch.half) {
    line.lo = welch.difference - *welch.half;
    line.hi = welch.difference + *welch.half;
    line.difference_text += " ± " + fixed(*welch.half, 2);
    line.change = change_of_accuracy(*line.lo, *line.hi, margin.points(100 - line.a));
  }
  return line;
}

CompareLine speed_line(const Ratio& a, const Ratio& b) {
  const Ratio change = ratio_of_ratios(b, a);
  return {.a = a.ratio,
          .b = b.ratio,
          .difference = change.ratio,
          .lo = change.lo,
          .hi = change.hi,
          .a_text = ratio_text(a),
          .b_text = ratio_text(b),
          .difference_text = ratio_text(change),
          .change = change_of_speed(change),
          .n_a = a.n,
          .n_b = b.n};
}

std::string compared_text(const RowSet& set, const Row& row) {
  const Cell& cell = *row.first;
  std::string text = cell.network_label + ", " + cell.dataset;
  for (const auto& part : {cell.schedule_label, cell.method_label, set.setting(row)}) {
    if (!part.empty()) text += ", " + part;
  }
  return text;
}

struct Comparison {
  std::vector<CompareLine> lines;
  int64_t only_a = 0, only_b = 0;  // rows
};

void compare_rows(const RowSet& before, const RowSet& after, const Margin& margin,
                  Comparison& comparison) {
  std::map<RowKey, const Row*> known;
  for (const auto& row : before.rows()) known[row_key(*row.first)] = &row;
  comparison.only_a = static_cast<int64_t>(known.size());
  for (const auto& row : after.rows()) {
    const auto found = known.find(row_key(*row.first));
    if (found == known.end()) {
      ++comparison.only_b;
      continue;
    }
    --comparison.only_a;
    const Row& old = *found->second;
    const auto add = [&](CompareLine line) {
      line.what = compared_text(after, row);
      comparison.lines.push_back(std::move(line));
    };
    const auto a = accuracies(before, old), b = accuracies(after, row);
    if (!a.empty() && !b.empty()) add(accuracy_line(a, b, margin));
    if (old.speedup.n > 0 && row.speedup.n > 0) {
      auto line = speed_line(old.speedup, row.speedup);
      line.quantity = "speedup", line.quantity_text = "speedup over dense";
      add(std::move(line));
    }
  }
}

void compare_kernels(const std::string& a, const std::string& b, Comparison& comparison) {
  const auto before = kernel_ratios(a);
  for (const auto& [key, kernel] : kernel_ratios(b)) {
    const auto found = before.find(key);
    if (found == before.end()) continue;
    auto line = speed_line(found->second.ratio, kernel.ratio);
    line.what = kernel.what;
    line.quantity = "kernel_speedup", line.quantity_text = "kernel speedup";
    comparison.lines.push_back(std::move(line));
  }
}

Columns<CompareLine> compare_columns() {
  using Line = CompareLine;
  const auto change = [](const Line& line) {
    return line.change ? std::string(name(*line.change)) : std::string();
  };
  return {{.name = "what", .header = "what", .value = &Line::what},
          {.name = "quantity",
           .header = "quantity",
           .value = &Line::quantity,
           .text = &Line::quantity_text},
          {.name = "a", .header = "A", .value = &Line::a, .text = &Line::a_text},
          {.name = "b", .header = "B", .value = &Line::b, .text = &Line::b_text},
          {.name = "change",
           .header = "B against A",
           .value = &Line::difference,
           .text = &Line::difference_text},
          {.name = "change_lo", .value = maybe(&Line::lo)},
          {.name = "change_hi", .value = maybe(&Line::hi)},
          {.name = "verdict", .header = "verdict", .value = change},
          {.name = "n_a", .value = &Line::n_a},
          {.name = "n_b", .value = &Line::n_b}};
}

}  // namespace

std::string_view name(Change change) {
  switch (change) {
    case Change::kSame:
      return "same";
    case Change::kFaster:
      return "faster";
    case Change::kSlower:
      return "slower";
    case Change::kBetter:
      return "better";
    case Change::kInferior:
      return "inferior";
    case Change::kDiffers:
      return "differs";
    case Change::kUndecided:
      return "undecided";
  }
  return "";
}

Table report_compare(const std::string& a, const std::string& b, const ReportOptions& options,
                     std::vector<Change>* losses) {
  const RowSet before(a, options), after(b, options);
  Comparison comparison;
  compare_rows(before, after, options.margin.value_or(kUsualMargin), comparison);
  compare_kernels(a, b, comparison);
  if (losses != nullptr) {
    for (const auto& line : comparison.lines) {
      const bool lost =
          line.change && std::count(std::begin(kLosses), std::end(kLosses), *line.change) > 0;
      if (lost) losses->push_back(*line.change);
    }
  }
  Table table;
  table.name = "compare";
  table.title = "B against A";
  fill(table, compare_columns(), comparison.lines);
  table.notes = {
      fmt::format("speeds are compared through their own dense baselines, so A and B may come from "
                  "different machines; {} rows only in A, {} only in B",
                  comparison.only_a, comparison.only_b),
      fmt::format("accuracy: Welch's 95 % interval against a margin of {}; speed: faster or "
                  "slower from 2 % on, the same if the whole interval lies within 2 %",
                  options.margin.value_or(kUsualMargin).text())};
  return table;
}

}  // namespace approx
