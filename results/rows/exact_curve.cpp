#include "results/rows/exact_curve.h"

#include <algorithm>
#include <set>

#include "core/experiment/iso_time.h"
#include "results/rows/same_time.h"

namespace approx {
namespace {

constexpr double kRange = 2;  // trainings of half to twice the row's length
constexpr double kEpochRounding = 1e-9;

class CurveMaker {
 public:
  explicit CurveMaker(const Row& row) {
    curve_.epochs = trained_epochs(row).most;
    for (const auto& [cell, run] : accuracy_runs(row, /*diverged=*/false)) {
      const auto accuracy = cell->final_accuracy();
      if (!accuracy) continue;
      curve_.method.push_back({cell->config.seed, *accuracy});
      runs_.push_back(run);
      data_.insert(run->dataset_id);
    }
  }

  // What its runs say of every evaluation, or of the last.
  void add(const Row& exact, bool every_evaluation) {
    const size_t before = curve_.exact.size();
    for (const auto& [cell, run] : accuracy_runs(exact, /*diverged=*/false)) {
      const auto& tests = run->measured->evaluations("test");
      if (tests.empty() || !cell->final_accuracy() || !data_.contains(run->dataset_id)) continue;
      for (const auto& point : tests) {
        if (&point == &tests.back() || every_evaluation) add(*cell, *run, point);
      }
    }
    if (curve_.exact.size() == before) return;
    for (const auto note : {kDiverged, kLossy, kDirty, kMixedHosts, kResumed}) {
      curve_.notes[note] |= exact.notes[note];
    }
  }

  ExactCurve made() { return std::move(curve_); }

 private:
  void add(const Cell& cell, const Run& run, const CurvePoint& point) {
    const double least = curve_.epochs / kRange - kEpochRounding;
    const double most = curve_.epochs * kRange + kEpochRounding;
    if (!(point.epoch > 0 && point.epoch >= least && point.epoch <= most)) return;
    curve_.exact.push_back({cell.config.seed, point.epoch, 100 * point.value});
    for (const auto* own : runs_) {
      curve_.notes[kPairsOfMachines] |= own->host_id != run.host_id;
      curve_.notes[kMixedBuilds] |= !same_build(*own, run);
    }
  }

  ExactCurve curve_;
  std::vector<const Run*> runs_;
  std::set<int64_t> data_;
};

}  // namespace

ExactCurve exact_curve(const RowSet& set, const Row& row) {
  CurveMaker maker(row);
  if (row.dense == nullptr) return maker.made();
  const Recipe& recipe = row.dense->first->config.recipe;
  const bool every_evaluation = is_prefix_of_longer(recipe);
  maker.add(*row.dense, every_evaluation);
  if (every_evaluation) return maker.made();
  for (const auto& other : set.rows()) {
    if (&other == row.dense || !is_dense(*other.first) ||
        !same_but_recipe(*other.first, *row.first)) {
      continue;
    }
    const Recipe& its = other.first->config.recipe;
    if (shortened_like(recipe, its) == its) maker.add(other, every_evaluation);
  }
  return maker.made();
}

std::vector<MachineSpeedup> speedups_by_machine(const Row& row) {
  std::vector<MachineSpeedup> machines;
  std::vector<CellRuns> timings;  // by machine
  for (const auto& timing : row.timings) {
    const Run& run = *timing.run;
    auto at = std::ranges::find(machines, run.host_id, &MachineSpeedup::host_id);
    if (at == machines.end()) {
      machines.push_back(
          {.host_id = run.host_id, .machine = run.host, .cpu = run.cpu, .speedup = {}});
      timings.emplace_back();
      at = std::prev(machines.end());
    }
    timings[static_cast<size_t>(at - machines.begin())].push_back(timing);
  }
  for (size_t i = 0; i < machines.size(); ++i) {
    machines[i].speedup = timed_ratio(timings[i]);
    machines[i].occasions = timing_occasions(timings[i]);
  }
  return machines;
}

}  // namespace approx
