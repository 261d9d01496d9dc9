#include "results/rows/best_exact.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "results/rows/open_rate.h"

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

struct ExactStep {
  Ratio ns;  // the mean of its logarithm over processes
  int64_t occasions = 0;
};

// The exact step in a precision beside a row, over the processes on a machine that timed a method
// against it.
ExactStep exact_step(const RowSet& set, const Row& beside, Precision precision, int64_t host) {
  std::vector<double> logs;
  CellRuns timings;
  for (const auto& row : set.rows()) {
    if (row.first->config.precision != precision || row.notes[kOtherNetwork] ||
        !alike_but_for_precision(*row.first, *beside.first)) {
      continue;
    }
    for (const auto& timing : row.timings) {
      const Run* run = timing.run;
      const auto& blocks = run->measured->blocks;
      if (run->host_id != host || blocks.empty()) continue;
      double sum = 0;
      for (const auto& pair : blocks) sum += std::log(pair.dense_ns);
      logs.push_back(sum / static_cast<double>(blocks.size()));
      timings.push_back(timing);
    }
  }
  return {.ns = ratio_of_logs(logs), .occasions = timing_occasions(timings)};
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
                              const Margin& margin, const ArmTrials& trials) {
  std::vector<double> beyond;
  if (other != nullptr && own != nullptr) {
    beyond = losses_beyond(paired_losses(*other, *own), margin);
  }
  if (beyond.empty()) return fmt::format("its accuracy was not measured beside {}", name(beside));
  if (static_cast<int64_t>(beyond.size()) < kSeedsForAVerdict) {
    return fmt::format("{} seeds of {} cannot bound its loss", beyond.size(), kSeedsForAVerdict);
  }
  if (auto open = why_row_rate_open(*other, trials); !open.empty()) {
    return "its learning rate is not enclosed: " + open;
  }
  if (auto open = why_row_rate_open(*own, trials); !open.empty()) {
    return fmt::format("the learning rate of exact training in {} is not enclosed: {}",
                       name(beside), open);
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

BestExact best_exact(const RowSet& set, const Row& row, const Margin& margin,
                     const ArmTrials& trials) {
  const Precision own = row.first->config.precision;
  BestExact best{.precision = own};
  if (row.speedup.n == 0 || row.notes[kOtherNetwork] || row.timed_on != 1) return best;
  const int64_t host = row.timings.front().run->host_id;
  const ExactStep own_step = exact_step(set, row, own, host);
  for (const auto& [precision, precision_name] : enum_texts(Precision())) {
    if (precision == own) continue;
    const ExactStep step = exact_step(set, row, precision, host);
    const Ratio over_own = ratio_of_ratios(own_step.ns, step.ns);
    if (over_own.n == 0 || over_own.ratio <= best.over_own.ratio) continue;
    const std::string obstacle =
        accuracy_obstacle(exact_row(set, row, precision), row.dense, own, margin, trials);
    if (obstacle.empty()) {
      best.precision = precision;
      best.over_own = over_own;
      best.occasions = std::min(own_step.occasions, step.occasions);
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

int64_t occasions_over(const BestExact& best, const Row& row) {
  const int64_t own = timing_occasions(row.timings);
  return best.precision == row.first->config.precision ? own : std::min(own, best.occasions);
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
