#include "results/reports/compare.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <map>
#include <optional>
#include <ranges>
#include <set>
#include <utility>

#include "base/error.h"
#include "base/numbers.h"
#include "results/records/contents.h"
#include "results/records/kernels.h"
#include "results/records/lossy_data.h"
#include "results/render/column.h"
#include "results/rows/rows.h"
#include "results/stats/stats.h"

namespace approx {
namespace {

// --- accuracy ---

using BySeed = std::map<int64_t, double>;

// How the trainings of a row ended.
struct Outcomes {
  BySeed accuracies;           // of those that finished
  std::set<int64_t> diverged;  // seeds

  bool any() const { return !accuracies.empty() || !diverged.empty(); }
};

Outcomes outcomes_of(const Row& row) {
  Outcomes outcomes;
  for (const auto& [cell, run] : accuracy_runs(row, /*diverged=*/true)) {
    if (const auto value = cell->final_accuracy()) outcomes.accuracies[cell->config.seed] = *value;
    if (!run->finished()) outcomes.diverged.insert(cell->config.seed);
  }
  return outcomes;
}

std::vector<double> without_seeds(const BySeed& by_seed) {
  const auto values = std::views::values(by_seed);
  return {values.begin(), values.end()};
}

// Equal runs give equal numbers: where there are too few for an interval's verdict, the seeds that
// both stores have still show whether they are equal.
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

// Whether one store has all that the other has.
bool one_has_the_other(const BySeed& a, const BySeed& b) {
  return std::ranges::includes(a, b) || std::ranges::includes(b, a);
}

// A mean without the runs that diverged flatters: seeds that did in one store and finished in the
// other decide. None where the same seeds diverged in both.
std::optional<Change> change_of_divergence(const Outcomes& a, const Outcomes& b) {
  if (a.diverged == b.diverged) return std::nullopt;
  const auto any_finished = [](const std::set<int64_t>& seeds, const BySeed& finished) {
    return std::ranges::any_of(seeds, [&](int64_t seed) { return finished.contains(seed); });
  };
  const bool lost = any_finished(b.diverged, a.accuracies);
  const bool gained = any_finished(a.diverged, b.accuracies);
  if (lost == gained) return Change::kUndecided;
  return lost ? Change::kInferior : Change::kBetter;
}

// By Welch's interval of the difference, where both have seeds enough.
Change change_of_accuracy(const WelchDifference& welch, double margin) {
  if (std::min(welch.n_a, welch.n_b) < kSeedsForAVerdict) return Change::kUndecided;
  const double lo = welch.difference - *welch.half, hi = welch.difference + *welch.half;
  if (hi < -margin) return Change::kInferior;
  if (lo > margin) return Change::kBetter;
  return lo > -margin && hi < margin ? Change::kSame : Change::kUndecided;
}

// --- speed ---

// None without a ratio.
std::optional<Change> change_of_speed(const Ratio& ratio, double least) {
  if (ratio.n == 0) return std::nullopt;
  switch (speed_change(ratio, least)) {
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

// A case of a kernel benchmark, in the order that its rows have.
using KernelKey = std::array<std::string, 7>;
using KernelCases = std::map<KernelKey, const KernelLine*>;

// Of each case the last result that has a speedup.
KernelCases last_kernels(const std::vector<KernelLine>& lines) {
  KernelCases kernels;
  for (const auto& line : lines) {
    if (!line.speedup()) continue;
    kernels[{line.op, line.shape_text, line.method, line.variant, line.precision,
             std::to_string(line.threads), line.device}] = &line;
  }
  return kernels;
}

// What of its shape tells a case apart from others that have its name: " cold=true".
std::string rest_of_shape(const KernelLine& line, const std::vector<const KernelLine*>& namesakes) {
  std::string text;
  for (const auto& [part, value] : line.shape.items()) {
    const bool shared = std::ranges::all_of(namesakes, [&](const KernelLine* other) {
      return other->shape.is_object() && other->shape.contains(part) && other->shape[part] == value;
    });
    if (!shared) text += fmt::format(" {}={}", part, value.dump());
  }
  return text;
}

// The names of cases: product, shape and method, and of the rest of the key what differs between
// them, so that no two are alike.
std::map<KernelKey, std::string> kernel_names(const KernelCases& kernels) {
  const auto differs = [&](auto KernelLine::*part) {
    return std::ranges::any_of(kernels, [&](const auto& kernel) {
      return kernel.second->*part != kernels.begin()->second->*part;
    });
  };
  const bool variants = differs(&KernelLine::variant), precisions = differs(&KernelLine::precision),
             threads = differs(&KernelLine::threads), devices = differs(&KernelLine::device);
  std::map<KernelKey, std::string> names;
  std::map<std::string, std::vector<const KernelLine*>> named;
  for (const auto& [key, line] : kernels) {
    std::string text = fmt::format("{} {} {}", line->op, line->shape_name(), line->method);
    if (variants) text += ", " + line->variant;
    if (precisions) text += ", " + line->precision;
    if (threads) text += fmt::format(", threads: {}", line->threads);
    if (devices) text += ", " + line->device;
    named[text].push_back(line);
    names[key] = std::move(text);
  }
  for (auto& [key, text] : names) {
    const auto& namesakes = named.at(text);
    if (namesakes.size() > 1) text += rest_of_shape(*kernels.at(key), namesakes);
  }
  return names;
}

// --- lines ---

struct CompareLine {
  std::string what;
  std::string quantity, quantity_text;  // for programs, for people
  std::optional<double> a, b, difference;
  std::optional<double> lo, hi;  // of the difference
  std::string a_text, b_text, difference_text = "–";
  std::optional<Change> change;
  int64_t n_a = 0, n_b = 0;
  int64_t diverged_a = 0, diverged_b = 0;
};

std::string outcomes_text(const Summary& mean, int64_t diverged) {
  return with_interval(mean, 2) + (diverged > 0 ? fmt::format(", {} diverged", diverged) : "");
}

// `dense`: the accuracy of A's exact training, percent.
CompareLine accuracy_line(const Outcomes& a, const Outcomes& b, const Margin& margin,
                          std::optional<double> dense) {
  const auto before = without_seeds(a.accuracies), after = without_seeds(b.accuracies);
  const auto mean_a = summarize(before), mean_b = summarize(after);
  CompareLine line{.quantity = "accuracy_pct",
                   .quantity_text = "accuracy, %",
                   .change = change_by_seed(a.accuracies, b.accuracies),
                   .n_a = mean_a.n,
                   .n_b = mean_b.n,
                   .diverged_a = static_cast<int64_t>(a.diverged.size()),
                   .diverged_b = static_cast<int64_t>(b.diverged.size())};
  line.a_text = outcomes_text(mean_a, line.diverged_a);
  line.b_text = outcomes_text(mean_b, line.diverged_b);
  if (mean_a.n > 0) line.a = mean_a.mean;
  if (mean_b.n > 0) line.b = mean_b.mean;
  if (mean_a.n > 0 && mean_b.n > 0) {
    const auto welch = welch_difference(after, before);
    line.difference = welch.difference;
    line.difference_text = fixed(welch.difference, 2);
    if (welch.half) {
      line.lo = welch.difference - *welch.half;
      line.hi = welch.difference + *welch.half;
      line.difference_text += " ± " + fixed(*welch.half, 2);
      // Fewer seeds than a verdict takes do not make numbers equal that a single one shows to
      // differ.
      const bool told = std::min(welch.n_a, welch.n_b) >= kSeedsForAVerdict;
      if (one_has_the_other(a.accuracies, b.accuracies)) {
        line.change = Change::kSame;
      } else if (told || line.change != Change::kDiffers) {
        line.change = change_of_accuracy(welch, margin.points(100 - dense.value_or(mean_a.mean)));
      }
    }
  }
  if (const auto change = change_of_divergence(a, b)) line.change = change;
  return line;
}

CompareLine speed_line(const Ratio& a, const Ratio& b, double least) {
  const Ratio change = ratio_of_ratios(b, a);
  return {.a = a.ratio,
          .b = b.ratio,
          .difference = change.ratio,
          .lo = change.lo,
          .hi = change.hi,
          .a_text = ratio_text(a),
          .b_text = ratio_text(b),
          .difference_text = ratio_text(change),
          .change = change_of_speed(change, least),
          .n_a = a.n,
          .n_b = b.n};
}

std::string compared_text(const RowSet& set, const Row& row) {
  const Cell& cell = *row.first;
  std::string text = cell.network_label + ", " + cell.config.dataset;
  for (const auto& part : {cell.schedule_label, cell.method_label, set.setting(row)}) {
    if (!part.empty()) text += ", " + part;
  }
  return text;
}

struct Comparison {
  std::vector<CompareLine> lines;
  int64_t only_a = 0, only_b = 0;  // rows, and cases of kernel benchmarks
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
    const auto a = outcomes_of(old), b = outcomes_of(row);
    if (a.any() && b.any()) {
      const bool exact = old.dense != nullptr && old.dense->accuracy.n > 0;
      add(accuracy_line(a, b, margin,
                        exact ? std::optional(old.dense->accuracy.mean) : std::nullopt));
    }
    if (old.speedup.n > 0 && row.speedup.n > 0) {
      auto line = speed_line(old.speedup, row.speedup, kLeastEffect);
      if (!speedup_obstacle(old).empty() || !speedup_obstacle(row).empty()) {
        line.change = Change::kUndecided;
      }
      line.quantity = "speedup", line.quantity_text = "speedup over dense";
      add(std::move(line));
    }
  }
}

void compare_kernels(const Snapshot& a, const Snapshot& b, Comparison& comparison) {
  const auto before = last_kernels(a.kernels());
  KernelCases both = last_kernels(b.kernels());
  comparison.only_b += static_cast<int64_t>(
      std::erase_if(both, [&](const auto& kernel) { return !before.contains(kernel.first); }));
  comparison.only_a += static_cast<int64_t>(before.size() - both.size());
  const auto names = kernel_names(both);
  for (const auto& [key, kernel] : both) {
    auto line =
        speed_line(*before.at(key)->speedup(), *kernel->speedup(), kLeastEffectOfOneProcess);
    line.what = names.at(key);
    line.quantity = "kernel_speedup", line.quantity_text = "kernel speedup";
    comparison.lines.push_back(std::move(line));
  }
}

Columns<CompareLine> compare_columns() {
  using Line = CompareLine;
  return {{.name = "what", .header = "what", .value = &Line::what},
          {"quantity", "quantity", &Line::quantity, &Line::quantity_text},
          {"a", "A", via(&Line::a), &Line::a_text},
          {"b", "B", via(&Line::b), &Line::b_text},
          {"change", "B against A", via(&Line::difference), &Line::difference_text},
          {.name = "change_lo", .value = via(&Line::lo)},
          {.name = "change_hi", .value = via(&Line::hi)},
          {.name = "verdict",
           .header = "verdict",
           .value =
               [](const Line& line) {
                 return line.change ? std::string(name(*line.change)) : std::string();
               }},
          {.name = "n_a", .value = &Line::n_a},
          {.name = "n_b", .value = &Line::n_b},
          {.name = "diverged_a", .value = &Line::diverged_a},
          {.name = "diverged_b", .value = &Line::diverged_b}};
}

// "12 comparisons: 10 same, 2 slower."; "" for none.
std::string changes_sentence(const std::vector<CompareLine>& lines) {
  if (lines.empty()) return "";
  std::map<Change, int64_t> changes;
  for (const auto& line : lines) {
    if (line.change) ++changes[*line.change];
  }
  std::vector<std::string> counts;
  for (const auto& [change, count] : changes) {
    counts.push_back(fmt::format("{} {}", count, name(change)));
  }
  return fmt::format("{} {}: {}.", lines.size(), lines.size() == 1 ? "comparison" : "comparisons",
                     fmt::join(counts, ", "));
}

}  // namespace

Table report_compare(const Snapshot& a, const Snapshot& b, const ReportOptions& options,
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
  Table table = table_of("B against A", compare_columns(), comparison.lines);
  table.name = "compare";
  table.screen.results = {"what", "quantity", "a", "b", "change", "verdict"};
  table.screen.headline = changes_sentence(comparison.lines);
  table.notes = {
      "speeds are compared through each database's own dense runs, so A and B may come from "
      "different machines",
      fmt::format("rows and kernels only in A: {}, only in B: {}", comparison.only_a,
                  comparison.only_b),
      fmt::format(
          "accuracy: same if one database has all seeds of the other, with equal numbers. Else "
          "Welch's 95 % interval is held against a margin of {}, from {} seeds of each on. With "
          "fewer, it differs if a seed of both has different numbers. It is inferior if seeds "
          "diverged in B alone",
          options.margin.value_or(kUsualMargin).text(), kSeedsForAVerdict),
      fmt::format(
          "speed: faster or slower from {0:.0f} % on, same if the whole interval lies within "
          "{0:.0f} %, from {1} processes of each on. For kernels, timed in one process each, the "
          "bound is {2:.0f} %",
          100 * kLeastEffect, kProcessesForAVerdict, 100 * kLeastEffectOfOneProcess)};
  auto lossy = lossy_datasets(a.db(), "");
  lossy.merge(lossy_datasets(b.db(), ""));
  if (auto note = lossy_note(lossy); !note.empty()) table.notes.push_back(std::move(note));
  return table;
}

}  // namespace approx
