#include "results/rows/target_rows.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "core/experiment/iso_time.h"
#include "results/rows/derived_target.h"

namespace approx {
namespace {

// The share that the runs of a group are to reach.
std::optional<TargetChoice> choose_target(const Row& row, const ReportOptions& options) {
  if (options.target) return TargetChoice{*options.target, "given"};
  const StoredTarget* stored = row.stored_target;
  if (row.target && stored == nullptr) return TargetChoice{*row.target, "the experiment's"};
  // Another margin is another question.
  if (stored != nullptr && (!options.margin || options.margin->text() == stored->margin)) {
    return TargetChoice{stored->share, stored->origin(), stored->runs(), /*is_stored=*/true};
  }
  if (row.dense == nullptr) return std::nullopt;
  const Margin margin = options.margin.value_or(kUsualMargin);
  const auto derived = derive_target(*row.dense, margin);
  if (!derived) return std::nullopt;
  return TargetChoice{derived->share, target_origin(derived->runs(), margin.text()),
                      derived->runs()};
}

Efforts efforts_of(const Row& row, double share) {
  Efforts efforts;
  for (const auto& [cell, run] : target_runs(row, share)) {
    const auto& evaluations = cell->judged();
    if (evaluations.empty()) {
      // One that diverged before its first evaluation never arrives, like any other that did.
      if (run->state != RunState::kDiverged) continue;
      efforts.diverged.push_back(efforts.seconds.size());
      efforts.seconds.push_back(
          {static_cast<double>(run->train_ns.value_or(0)) / kNsPerSecond, /*reached=*/false});
      efforts.of_cell[cell] = std::nullopt;
      continue;
    }
    const auto* found = first_reaching(evaluations, share);
    const bool reached = found != nullptr;
    const bool stopped = reached && cell->config.stop_at > 0;
    const bool out_of_patience = run->ended_by == EarlyEnd::kPatience;
    efforts.stopped += stopped;
    efforts.out_of_patience += !reached && out_of_patience;
    efforts.cut_off += !reached && is_cut_off(run->state);
    if (run->finished() && !stopped && !out_of_patience) {
      const double whole = static_cast<double>(evaluations.back().train_ns) / kNsPerSecond;
      efforts.watched = std::min(efforts.watched.value_or(whole), whole);
    }
    const auto& at = reached ? *found : evaluations.back();
    const double seconds = static_cast<double>(at.train_ns) / kNsPerSecond;
    const auto steps = static_cast<double>(at.step);
    if (!reached && run->state == RunState::kDiverged)
      efforts.diverged.push_back(efforts.seconds.size());
    efforts.seconds.push_back({seconds, reached});
    if (reached) {
      const auto counted = run->measured->joules.find(at.step);
      if (counted != run->measured->joules.end()) efforts.joules.push_back(counted->second);
    }
    auto& effort = efforts.of_cell[cell];
    if (reached && seconds > 0 && steps > 0) effort = {steps, seconds};
  }
  return efforts;
}

// The ratios of a row against dense: of steps wherever the runs were made, of seconds on one
// machine.
void compare_with_dense(TargetRow& next) {
  const Row* dense = next.row->dense;
  if (dense == nullptr || dense == next.row) return;
  const bool timed = next.row->speedup.n > 0;
  std::vector<TargetEffort> theirs, ours;
  const auto reference = efforts_of(*dense, next.target.share);
  for (const auto& [cell, effort] : next.efforts.of_cell) {
    const auto found =
        reference.of_cell.find(partner(dense, *cell, timed ? Machine::kAny : Machine::kSame));
    if (found == reference.of_cell.end()) continue;
    ++next.pairs;
    if (!effort || !found->second) continue;
    theirs.push_back(*found->second);
    ours.push_back(*effort);
  }
  next.arrived = static_cast<int64_t>(ours.size());
  const bool all_arrived = next.arrived == next.pairs;
  next.same_evaluation =
      all_arrived && next.arrived > 0 &&
      std::ranges::equal(theirs, ours, {}, &TargetEffort::steps, &TargetEffort::steps);
  const TargetSpeedup parts = target_speedup(theirs, ours);
  if (all_arrived) next.steps = parts.steps;
  const bool told = all_arrived && !next.same_evaluation && next.steps.n > 0;
  if (timed) {
    next.step_time = next.row->speedup;
    next.step_times = StepTimes::kTimingRuns;
    if (told) next.speedup = product_of_ratios(next.steps, next.step_time);
  } else if (parts.time.n > 0 && !next.row->notes[kInPython] && !next.row->notes[kShortSeconds] &&
             !dense->notes[kShortSeconds]) {
    next.step_time = parts.step_time;
    next.step_times = StepTimes::kAccuracyRuns;
    if (told) next.speedup = parts.time;
  }
}

}  // namespace

const TargetRow* target_of(const std::vector<TargetRow>& rows, const Row& row) {
  const auto found = std::ranges::find(rows, &row, &TargetRow::row);
  return found == rows.end() ? nullptr : &*found;
}

double shown_percent(const TargetChoice& target) { return std::round(target.share * 1e12) / 1e10; }

std::string speedup_text(const TargetRow& line) {
  if (line.speedup.n > 0 || line.pairs == 0) return ratio_text(line.speedup);
  if (line.arrived < line.pairs)
    return fmt::format("– ({}/{} pairs arrived)", line.arrived, line.pairs);
  return line.same_evaluation ? "– (same evaluation)" : "–";
}

Group group_of(const Row& row) {
  return {row.first->config.network, row.first->config.dataset, row.first->setting};
}

std::vector<TargetRow> target_rows(const RowSet& set, const ReportOptions& options) {
  std::vector<TargetRow> rows;
  // How far every row of a group was watched: of its runs that trained to their end, since one that
  // diverged or reached its target was not cut short, and one that was says itself how far it got.
  // A group in which none did is watched as far as its longest run.
  std::map<Group, double> budgets, longest;
  std::map<Group, std::set<int64_t>> hosts;
  for (const auto& row : set.rows()) {
    // The exact training of a method's time has that method's target (results/rows/same_time.h),
    // and one of another length is no method.
    if (is_exact_control(row.first->method_label)) continue;
    const auto target = choose_target(row, options);
    if (!target) continue;
    TargetRow next{.row = &row,
                   .notes = row.notes,
                   .target = *target,
                   .efforts = efforts_of(row, target->share)};
    if (next.efforts.seconds.empty()) continue;
    next.notes[kFewTargetRuns] =
        target->dense_runs.value_or(kDenseRunsForATarget) < kDenseRunsForATarget;
    const Group group = group_of(row);
    for (const auto& each : target_runs(row, target->share)) hosts[group].insert(each.run->host_id);
    for (const auto& attempt : next.efforts.seconds) {
      longest[group] = std::max(longest[group], attempt.time);
    }
    if (next.efforts.watched) {
      const auto [at, added] = budgets.emplace(group, *next.efforts.watched);
      if (!added) at->second = std::min(at->second, *next.efforts.watched);
    }
    rows.push_back(std::move(next));
  }
  std::erase_if(rows, [&](const TargetRow& next) { return longest.at(group_of(*next.row)) <= 0; });
  for (auto& next : rows) {
    const Group group = group_of(*next.row);
    next.budget = budgets.contains(group) ? budgets.at(group) : longest.at(group);
    // A training that diverged is begun anew as soon as it has.
    const auto restarts = time_to_target(next.efforts.seconds);
    for (const size_t at : next.efforts.diverged) {
      next.efforts.seconds[at].time = std::max(next.efforts.seconds[at].time, next.budget);
    }
    next.machines = static_cast<int64_t>(hosts.at(group).size());
    next.time = time_to_target(next.efforts.seconds,
                               next.machines == 1 ? std::optional(next.budget) : std::nullopt);
    next.time.expected_with_restarts = restarts.expected_with_restarts;
    next.time.restarts_half = restarts.restarts_half;
    compare_with_dense(next);
  }
  return rows;
}

}  // namespace approx
