#include "results/papers/cells.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <tuple>
#include <utility>

#include "base/error.h"
#include "results/stats/stats.h"

namespace approx {
namespace {

constexpr const char* kNoShares =
    "no timing run in the store says what share of a step its products take";

// What a cell has of settings that a planned run has otherwise, "epochs=4". Not the threads: where
// a file leaves them open they are those of whatever machine reads it.
std::string differing(const Cell& cell, const RunConfig& config) {
  const Settings wanted = settings_of(config);
  std::string text;
  for (const auto& setting : cell.settings) {
    const auto& [key, value] = setting;
    if (key == "threads" || std::count(wanted.begin(), wanted.end(), setting) > 0) continue;
    text += fmt::format("{}{}={}", text.empty() ? "" : " ", key, value);
  }
  return text;
}

// The last loss on the images that a run trained on.
std::optional<double> train_loss(const RunMeasurements& measured) {
  const auto found = measured.loss.find("train");
  return found == measured.loss.end() ? std::nullopt : std::optional(found->second.back().value);
}

// How the runs of a row for one purpose ended.
struct Ends {
  int64_t finished = 0, diverged = 0, cut_off = 0, failed = 0;
};

Ends ends_of(const Row& row, Purpose purpose) {
  Ends ends;
  for (const auto* cell : row.cells) {
    const Run* run = cell->run();
    if (!cell->is(purpose) || run == nullptr) continue;
    ends.finished += run->finished();
    ends.diverged += run->state == RunState::kDiverged;
    ends.cut_off += run->state == RunState::kTimeout;
    ends.failed += run->state == RunState::kFailed;
  }
  return ends;
}

// Of the runs that a value is of.
Purpose purpose_of(const ReportedValue& value) {
  return is_of_processes(value) ? Purpose::kTiming : Purpose::kAccuracy;
}

Measured of_summary(const Summary& summary, const Row& row) {
  Measured measured;
  measured.n = summary.n;
  measured.value = summary.mean;
  measured.lossy = row.notes[kLossy];
  if (summary.half) {
    measured.lo = summary.mean - *summary.half;
    measured.hi = summary.mean + *summary.half;
  }
  return measured;
}

// Of the times of those of a row's runs that reached its target.
Measured of_target(const Summary& times, const Row& row) {
  Measured measured = of_summary(times, row);
  measured.missed = row.target_runs - times.n;
  return measured;
}

Measured of_timing(const Ratio& ratio, bool saved) {
  Measured measured;
  measured.n = ratio.n;
  if (measured.n == 0) return measured;
  const auto as = [saved](double number) { return saved ? 100 * (1 - 1 / number) : number; };
  measured.value = as(ratio.ratio);
  if (ratio.lo) measured.lo = as(*ratio.lo), measured.hi = as(*ratio.hi);
  return measured;
}

// Of the steps, or of the backward pass alone, which has no ceiling: that is one of whole steps.
Measured of_timing(const Row& row, const ReportedValue& value) {
  const bool saved = value.quantity == PaperQuantity::kTimeSaved;
  if (value.basis == Basis::kBackward) return of_timing(row.backward, saved);
  Measured measured = of_timing(row.speedup, saved);
  measured.above_ceiling = row.notes[kAboveCeiling];
  return measured;
}

// By how much an exact step is divided where each product took time in proportion to the
// multiply-accumulates that are left of it; of an exact row by nothing.
std::optional<double> estimated_speedup(const Row& row) {
  return is_dense(*row.first) ? std::optional(1.0) : row.estimate;
}

Measured of_realisation(const Row& row) {
  Measured measured;
  if (!row.realisation) return measured;
  measured.n = row.realisation->n;
  measured.value = row.realisation->value;
  measured.lo = row.realisation->lo, measured.hi = row.realisation->hi;
  measured.above_ceiling = row.notes[kAboveCeiling];
  return measured;
}

// The mean of a number that every training counts.
template <typename Count>
Measured of_counts(const Row& row, const Count& count) {
  const auto values = values_of(accuracy_runs(row, /*diverged=*/false), count);
  Measured measured = of_summary(summarize(values), row);
  measured.same_in_all =
      values.size() > 1 && std::equal(values.begin() + 1, values.end(), values.begin());
  return measured;
}

}  // namespace

bool is_of_approximated(const ReportedValue& value) {
  return value.definition.measure == Measure::kOfApproximatedLayers;
}

// A store also keeps the runs of an earlier text of the file, and those that flags made of it.
bool PaperCells::as_planned(const Row& row, Place at) const {
  return std::any_of(row.cells.begin(), row.cells.end(),
                     [&](const Cell* cell) { return cell->planned && grid_.stands(*cell, at); });
}

const Row* PaperCells::find(Place at, Purpose purpose) const {
  const Row* best = nullptr;
  std::tuple<bool, int64_t, int64_t> best_rank;
  for (const auto& row : set_.rows()) {
    if (!grid_.stands(*row.first, at)) continue;
    const int64_t finished = ends_of(row, purpose).finished;
    const std::tuple rank{finished > 0 && as_planned(row, at), finished, row.finished};
    if (best == nullptr || rank > best_rank) best = &row, best_rank = rank;
  }
  return best;
}

bool PaperCells::encoded_as_in_the_paper(const Row& row) const {
  const auto runs = accuracy_runs(row, /*diverged=*/false);
  return std::all_of(runs.begin(), runs.end(), [&](const auto& of) {
    return !of.run->lossy || of.run->data_variant == grid_.layout().paper.reencoded;
  });
}

std::string PaperCells::other_settings(const Row& row, Place at) const {
  if (as_planned(row, at)) return "";
  const auto* run = grid_.planned_as_shown(at);
  const Cell& cell = *row.first;
  const std::string text = run == nullptr ? "" : differing(cell, run->config);
  if (!text.empty()) return "made with other settings than the item's: " + text;
  const bool same =
      run != nullptr && arm_text(run->config.method, run->config.selection) == cell.method &&
      run->config.network == cell.config.network && run->config.dataset == cell.config.dataset &&
      schedule_text(run->config.schedule) == cell.schedule;
  return same ? "made with an earlier version of the method, the network or the data"
              : "made with other settings than the item's";
}

Measured PaperCells::measure(const ReportedValue& value, Place at) const {
  const Row* row = find(at, purpose_of(value));
  Measured measured;
  if (row != nullptr && value.not_run.empty()) {
    measured = measure(value, *row, at);
    measured.lossy = measured.lossy && !encoded_as_in_the_paper(*row);
    if (row->notes[kIdle]) {
      measured.unsound = kApproximatedNothing;
    } else if (is_of_processes(value) && row->timed_on > 1) {
      measured.unsound = unsound_speedup(*row);
    }
  }
  if (measured.n == 0 && measured.why_none.empty()) measured.why_none = why_none(value, at);
  return measured;
}

Measured PaperCells::measure(const ReportedValue& value, const Row& row, Place at) const {
  const bool best = value.definition.measure == Measure::kBest;
  if (value.basis == Basis::kEstimated) return estimate(value, row);
  switch (value.quantity) {
    case PaperQuantity::kRealisation:
      return of_realisation(row);
    case PaperQuantity::kSpeedup:
    case PaperQuantity::kTimeSaved:
      return of_timing(row, value);
    case PaperQuantity::kAccuracyLoss:
      return loss(row, at, best);
    case PaperQuantity::kAccuracy:
      return of_summary(best ? row.best : row.accuracy, row);
    case PaperQuantity::kDensity:
      // The share of all entries of the convolutions' gradients, as Ye et al. 2020 count
      // (section 6.3).
      return of_counts(row, &RunMeasurements::gradient_density);
    case PaperQuantity::kLoss:
      return of_summary(summarize(values_of(accuracy_runs(row, /*diverged=*/false), train_loss)),
                        row);
    case PaperQuantity::kTimeToTarget:
      return of_target(row.time_to_target, row);
    case PaperQuantity::kComputeReduction:
      return of_counts(row, [&](const RunMeasurements& measured) {
        return measured.compute_reduction(is_of_approximated(value));
      });
    case PaperQuantity::kCommunicationReduction:
      return of_counts(row, &RunMeasurements::communication_reduction);
    case PaperQuantity::kTime:
    case PaperQuantity::kError:
      break;  // of kernels and studies
  }
  return {};
}

Measured PaperCells::loss(const Row& row, Place at, bool best) const {
  const auto base = grid_.baseline(at);
  const Row* dense = base ? find(*base) : nullptr;
  if (dense == nullptr) return {.why_none = "no dense run to compare with"};
  if (dense == &row) return {};
  const auto difference = paired_difference(losses(row, *dense, best));
  Measured measured = of_summary(difference, row);
  // Else it is shown and not judged (docs/internals/statistics.md): no test of the table's family.
  if (of_equal_settings(*row.first, *dense->first)) measured.p = difference.p;
  return measured;
}

const Row* PaperCells::row_labelled(const std::string& label) const {
  for (size_t row = 0; row < grid_.rows().size(); ++row) {
    if (grid_.rows()[row] == label) return find({row, 0});
  }
  return nullptr;
}

// As McDanel et al. 2022 estimate (section IV-C): the steps that a training needed, each as long as
// an exact one with the time of its products divided by what is left of their multiply-accumulates.
Measured PaperCells::estimate(const ReportedValue& value, const Row& row) const {
  const auto ours = estimated_speedup(row);
  if (!ours) return {.why_none = kNoShares};
  Measured measured;
  if (value.quantity == PaperQuantity::kTimeToTarget) {
    std::vector<double> dense_ns;
    for (const auto& [cell, run] : row.timings) {
      for (const auto& pair : run->measured->blocks) dense_ns.push_back(pair.dense_ns);
    }
    if (dense_ns.empty()) return {.why_none = kNoShares};
    const double step_s = quantile(dense_ns, 0.5) / kNsPerSecond / *ours;
    std::vector<double> seconds;
    for (const auto& [seed, steps] : steps_to_target(row)) {
      seconds.push_back(static_cast<double>(steps) * step_s);
    }
    measured = of_target(summarize(seconds), row);
  } else if (value.quantity == PaperQuantity::kSpeedup && !value.against.empty()) {
    const Row* other = row_labelled(value.against);
    if (other == &row) return {};
    if (other == nullptr) {
      return {.why_none = fmt::format("no run of {}, which it is held against", value.against)};
    }
    const auto theirs = estimated_speedup(*other);
    if (!theirs) return {.why_none = kNoShares};
    const auto other_steps = steps_to_target(*other);
    std::vector<double> logs;
    for (const auto& [seed, steps] : steps_to_target(row)) {
      const auto found = other_steps.find(seed);
      if (found == other_steps.end()) continue;
      logs.push_back(std::log(static_cast<double>(found->second) / static_cast<double>(steps) *
                              *ours / *theirs));
    }
    measured = of_timing(ratio_of_logs(logs), /*saved=*/false);
    measured.missed = std::max(row.target_runs, other->target_runs) - measured.n;
  }
  measured.estimated = true;
  return measured;
}

std::string PaperCells::why_none(const ReportedValue& value, Place at) const {
  if (!value.not_run.empty()) return value.not_run;
  if (grid_.planned_in_full(at) == nullptr) return "the paper has no such cell";
  const auto* run = grid_.planned_as_shown(at);
  if (run == nullptr) return fmt::format("not part of the {} scale", name(grid_.shown().scale));
  if (!run->excluded.empty()) return run->excluded;
  const bool timed = is_of_processes(value);
  const Row* row = find(at, purpose_of(value));
  const Ends ends = row == nullptr ? Ends{} : ends_of(*row, purpose_of(value));
  if (ends.finished == 0) {
    if (ends.diverged > 0) return timed ? "its timing runs diverged" : "its runs diverged";
    if (ends.cut_off > 0) return timed ? "its timing runs were cut off" : "its runs were cut off";
    if (ends.failed > 0) return timed ? "its timing runs failed" : "its runs failed";
    return timed ? "no timing run in the store" : "no finished run in the store";
  }
  if (timed) {
    if (value.quantity == PaperQuantity::kRealisation && row->speedup.n > 0)
      return "its runs did not count it";
    if (value.basis == Basis::kBackward && row->speedup.n > 0) {
      return "its timing runs did not time the backward pass by itself";
    }
    return row->notes[kTainted] ? kTimingsDisturbed : "its timing runs have no pair of blocks";
  }
  if (value.quantity == PaperQuantity::kAccuracyLoss)
    return "no dense run of its seeds to compare with";
  if (value.quantity == PaperQuantity::kTimeToTarget || value.basis == Basis::kEstimated) {
    return row->target ? "no run reached the target" : "the experiment has no target";
  }
  if (value.quantity == PaperQuantity::kCommunicationReduction && run->config.ranks == 1) {
    return "its runs are of one rank, which sends nothing";
  }
  return "its runs did not record it";
}

}  // namespace approx
