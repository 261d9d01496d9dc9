#include "results/rows/best_exact.h"

#include <fmt/format.h>

#include <cmath>
#include <set>

namespace approx {
namespace {

constexpr std::string_view kPrecisionSetting = "precision";

// Whether two rows are of one network, data and settings but for the precision, and for a learning
// rate that was chosen for its row.
bool alike_but_for_precision(const Cell& a, const Cell& b) {
  const auto others = [](const Cell& cell) {
    Settings settings = cell.settings;
    std::erase_if(settings, [&](const auto& setting) {
      return setting.first == kPrecisionSetting || !cell.must_equal(setting.first);
    });
    return settings;
  };
  return a.config.network == b.config.network && a.config.dataset == b.config.dataset &&
         others(a) == others(b);
}

// The exact step in a precision beside a row, in nanoseconds: the mean of its logarithm over the
// processes on a machine that timed a method against it.
Ratio exact_step(const RowSet& set, const Row& beside, Precision precision, int64_t host) {
  std::vector<double> logs;
  for (const auto& row : set.rows()) {
    if (row.first->config.precision != precision || row.notes[kOtherNetwork] ||
        !alike_but_for_precision(*row.first, *beside.first)) {
      continue;
    }
    for (const auto& [cell, run] : row.timings) {
      const auto& blocks = run->measured->blocks;
      if (run->host_id != host || blocks.empty()) continue;
      double sum = 0;
      for (const auto& pair : blocks) sum += std::log(pair.dense_ns);
      logs.push_back(sum / static_cast<double>(blocks.size()));
    }
  }
  return ratio_of_logs(logs);
}

// The exact trainings in a precision beside a row; null without any.
const Row* exact_row(const RowSet& set, const Row& beside, Precision precision) {
  for (const auto& row : set.rows()) {
    if (is_dense(*row.first) && row.first->config.precision == precision &&
        alike_but_for_precision(*row.first, *beside.first)) {
      return &row;
    }
  }
  return nullptr;
}

// Why the exact trainings `other` may not stand for those of `own`; "" where they may. Either may
// be null.
std::string accuracy_obstacle(const Row* other, const Row* own, Precision beside,
                              const Margin& margin) {
  std::vector<double> beyond;
  if (other != nullptr && own != nullptr) {
    beyond = losses_beyond(paired_losses(*other, *own), margin);
  }
  if (beyond.empty()) return fmt::format("its accuracy was not measured beside {}", name(beside));
  if (static_cast<int64_t>(beyond.size()) < kSeedsForAVerdict) {
    return fmt::format("{} seeds of {} cannot bound its loss", beyond.size(), kSeedsForAVerdict);
  }
  switch (non_inferiority(beyond, /*margin=*/0).verdict) {
    case NonInferiority::kNonInferior:
      return "";
    case NonInferiority::kInferior:
      return "it loses more than " + margin.text();
    case NonInferiority::kInconclusive:
      return "its loss may be above " + margin.text();
  }
  return "";
}

}  // namespace

BestExact best_exact(const RowSet& set, const Row& row, const Margin& margin) {
  const Precision own = row.first->config.precision;
  BestExact best{.precision = own};
  if (row.speedup.n == 0 || row.notes[kOtherNetwork] || row.timed_on != 1) return best;
  const int64_t host = row.timings.front().run->host_id;
  const Ratio own_step = exact_step(set, row, own, host);
  for (const auto& [precision, precision_name] : enum_texts(Precision())) {
    if (precision == own) continue;
    const Ratio over_own = ratio_of_ratios(own_step, exact_step(set, row, precision, host));
    if (over_own.n == 0 || over_own.ratio <= best.over_own.ratio) continue;
    const std::string obstacle =
        accuracy_obstacle(exact_row(set, row, precision), row.dense, own, margin);
    if (obstacle.empty()) {
      best.precision = precision;
      best.over_own = over_own;
    } else {
      best.left_out.push_back(
          fmt::format("{} ({:.2f}×, but {})", precision_name, over_own.ratio, obstacle));
    }
  }
  return best;
}

Ratio speedup_over(const BestExact& best, const Row& row) {
  if (best.precision == row.first->config.precision) return row.speedup;
  return ratio_of_ratios(row.speedup, best.over_own);
}

std::string compared_within(const std::vector<const Row*>& rows) {
  std::set<std::string_view> precisions;
  for (const auto* row : rows) {
    if (row->speedup.n > 0) precisions.insert(name(row->first->config.precision));
  }
  if (precisions.size() != 1) return "";
  return fmt::format("compared within {}: exact training in another precision was not timed here",
                     *precisions.begin());
}

}  // namespace approx
