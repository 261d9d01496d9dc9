#include "results/rows/rows.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <utility>

#include "base/error.h"
#include "base/numbers.h"
#include "core/config/python_text.h"
#include "results/rows/derived_target.h"
#include "results/store/run_store.h"

namespace approx {
namespace {

// Whether all settings but whether steps are graphs are alike, which decides nothing of a training.
bool differ_in_graphs_alone(const Cell& a, const Cell& b) {
  const auto others = [](Settings settings) {
    std::erase_if(settings, [](const auto& setting) { return setting.first == "graphs"; });
    return settings;
  };
  return others(a.settings) == others(b.settings);
}

}  // namespace

RowKey row_key(const Cell& cell) {
  return {cell.config.network, cell.config.dataset, cell.setting, cell.schedule, cell.method};
}

std::string unsound_speedup(const Row& row) {
  if (row.notes[kIdle]) return kApproximatedNothing;
  if (row.notes[kAboveCeiling]) return "its speedup lies above its own ceiling";
  if (row.timed_on <= 1) return "";
  return fmt::format("its speed was timed on {} machines, which differ in it", row.timed_on);
}

std::string speedup_obstacle(const Row& row) {
  if (row.speedup.n == 0) {
    return row.notes[kTainted] ? kTimingsDisturbed : "its speed was not measured";
  }
  if (auto unsound = unsound_speedup(row); !unsound.empty()) return unsound;
  if (row.speedup.n >= kProcessesForAVerdict) return "";
  return "its speed was " + timed_in_few(row.speedup.n, kProcessesForAVerdict);
}

std::string timed_in_few(int64_t processes, int64_t needed) {
  return fmt::format("timed in {} {}, a verdict needs {}", processes,
                     processes == 1 ? "process" : "processes", needed);
}

Ratio timed_ratio(const CellRuns& timings, std::vector<BlockPair> RunMeasurements::*pairs) {
  std::vector<std::vector<double>> logs;
  for (const auto& [cell, run] : timings) {
    auto& group = logs.emplace_back();
    for (const auto& pair : (*run->measured).*pairs) {
      group.push_back(std::log(pair.dense_ns / pair.approx_ns));
    }
  }
  return ratio_of_processes(logs);
}

int64_t timing_occasions(const CellRuns& timings) {
  std::set<std::pair<std::string, std::string>> occasions;
  for (const auto& [cell, run] : timings) {
    constexpr size_t kDay = std::string_view("2026-01-31").size();
    occasions.emplace(run->started_utc.substr(0, kDay),
                      run->library.empty() ? run->git_sha : run->library);
  }
  return static_cast<int64_t>(occasions.size());
}

bool of_equal_settings(const Cell& a, const Cell& b) {
  return a.setting == b.setting || differ_in_graphs_alone(a, b);
}

// A run of a program that did not say its library's build id is judged by its commit alone.
bool same_build(const Run& a, const Run& b) {
  return a.git_sha == b.git_sha && a.dirty == b.dirty &&
         (a.library == b.library || a.library.empty() || b.library.empty());
}

const Cell* partner(const Row* dense, const Cell& cell, Machine machine) {
  if (dense == nullptr || cell.run() == nullptr) return nullptr;
  const Cell* elsewhere = nullptr;
  for (const auto* cells : {&dense->cells, &dense->stopped}) {
    for (const auto* other : *cells) {
      const Run* run = other->run();
      if (other != &cell && other->is(Purpose::kAccuracy) &&
          other->config.seed == cell.config.seed && run != nullptr &&
          run->dataset_id == cell.run()->dataset_id) {
        if (run->host_id == cell.run()->host_id) return other;
        if (elsewhere == nullptr) elsewhere = other;
      }
    }
  }
  return machine == Machine::kAny ? elsewhere : nullptr;
}

CellRuns runs_of(const Row& row, std::optional<Purpose> purpose, bool diverged) {
  CellRuns runs;
  for (const auto* cell : row.cells) {
    const Run* run = cell->run();
    if (run == nullptr || (purpose && !cell->is(*purpose))) continue;
    if (run->finished() || (diverged && run->result())) runs.push_back({cell, run});
  }
  return runs;
}

CellRuns target_runs(const Row& row, double share) {
  auto runs = accuracy_runs(row, /*diverged=*/true);
  std::set<int64_t> seeds;
  for (const auto& [cell, run] : runs) seeds.insert(cell->config.seed);
  const auto add = [&](const std::vector<const Cell*>& cells, const auto& counts) {
    for (const auto* cell : cells) {
      const Run* run = cell->run();
      if (!cell->is(Purpose::kAccuracy) || run == nullptr || !counts(run->state)) continue;
      if (cell->config.stop_at > 0 && cell->config.stop_at < share) continue;
      if (seeds.insert(cell->config.seed).second) runs.push_back({cell, run});
    }
  };
  add(row.stopped, is_result);
  add(row.cells, is_cut_off);
  add(row.stopped, is_cut_off);
  return runs;
}

std::map<int64_t, int64_t> steps_to_target(const Row& row) {
  std::map<int64_t, int64_t> steps;
  if (!row.target) return steps;
  for (const auto& [cell, run] : target_runs(row, *row.target)) {
    const auto* reached = first_reaching(cell->judged(), *row.target);
    if (reached != nullptr) steps[cell->config.seed] = reached->step;
  }
  return steps;
}

std::vector<PairedLoss> paired_losses(const Row& row, const Row& dense, bool best) {
  std::vector<PairedLoss> losses;
  for (const auto* cell : row.cells) {
    const Cell* other = partner(&dense, *cell, Machine::kAny);
    if (other == nullptr) continue;
    const auto ours = best ? cell->best_accuracy() : cell->final_accuracy();
    const auto theirs = best ? other->best_accuracy() : other->final_accuracy();
    if (ours && theirs) losses.push_back({.points = *theirs - *ours, .dense = *theirs});
  }
  return losses;
}

std::vector<double> losses_beyond(const std::vector<PairedLoss>& pairs, const Margin& margin) {
  std::vector<double> beyond;
  for (const auto& pair : pairs) beyond.push_back(pair.points - margin.points(100 - pair.dense));
  return beyond;
}

std::vector<double> losses(const Row& row, const Row& dense, bool best) {
  std::vector<double> losses;
  for (const auto& pair : paired_losses(row, dense, best)) losses.push_back(pair.points);
  return losses;
}

namespace {

void count(Row& row) {
  std::set<int64_t> hosts;
  std::vector<const Cell*> cells = row.cells;
  cells.insert(cells.end(), row.stopped.begin(), row.stopped.end());
  for (const auto* cell : row.stopped) {
    row.notes[kStopped] |= cell->config.stop_at > 0;
    row.notes[kPatience] |= cell->config.patience > 0;
  }
  for (const auto* cell : cells) {
    const Run* run = cell->run();
    if (run == nullptr || run->state == RunState::kRunning || run->state == RunState::kLost ||
        run->state == RunState::kInterrupted) {
      ++row.missing;
      continue;
    }
    ++(run->finished()                    ? row.finished
       : run->result()                    ? row.diverged
       : run->state == RunState::kTimeout ? row.cut_off
                                          : row.failed);
    if (!run->result()) continue;
    hosts.insert(run->host_id);
    row.notes[kLossy] |= run->lossy;
    row.notes[kDirty] |= run->dirty;
    row.notes[kShortSeconds] |= run->short_seconds;
    row.notes[kEarlierVersion] |= run->earlier_version;
    row.notes[kInPython] |= is_in_python(cell->config);
    row.notes[kResumed] |= cell->is(Purpose::kAccuracy) && run->tainted;
    row.notes[kDiverged] |= cell->is(Purpose::kAccuracy) && !run->finished();
    // The counts of several ranks are those of one, and others may approximate.
    const bool alone = cell->config.ranks == 1;
    row.notes[kIdle] |=
        alone && !is_dense(cell->config.method) && run->measured->approximated_nothing();
  }
  row.notes[kMixedHosts] = hosts.size() > 1;
  if (row.dense == nullptr || hosts.empty()) return;
  const auto exact = accuracy_runs(*row.dense, /*diverged=*/true);
  row.notes[kTimesElsewhere] = !accuracy_runs(row, /*diverged=*/true).empty() && !exact.empty() &&
                               std::ranges::none_of(exact, [&](const auto& each) {
                                 return hosts.contains(each.run->host_id);
                               });
}

void judge_accuracy(Row& row) {
  std::vector<double> finals, bests;
  for (const auto* cell : row.cells) {
    if (const auto value = cell->final_accuracy()) finals.push_back(*value);
    if (const auto value = cell->best_accuracy()) bests.push_back(*value);
  }
  row.accuracy = summarize(finals);
  row.best = summarize(bests);
  row.notes[kFew] = row.accuracy.n > 0 && row.accuracy.n < kFewSeeds;
}

void judge_loss(Row& row) {
  if (row.dense == nullptr || row.dense == &row) return;
  std::vector<double> logs;
  for (const auto* cell : row.cells) {
    const Cell* dense = partner(row.dense, *cell, Machine::kAny);
    if (dense == nullptr || !cell->final_accuracy() || !dense->final_accuracy()) continue;
    row.notes[kMixedBuilds] |= !same_build(*cell->run(), *dense->run());
    if (cell->run()->host_id != dense->run()->host_id) {
      row.notes[kPairsOfMachines] = true;
      continue;
    }
    if (cell->run()->short_seconds || dense->run()->short_seconds) continue;
    if (row.notes[kInPython]) continue;
    const auto ours = cell->run()->train_ns, theirs = dense->run()->train_ns;
    if (ours && theirs && *ours > 0 && *theirs > 0) {
      logs.push_back(std::log(static_cast<double>(*theirs) / static_cast<double>(*ours)));
    }
  }
  row.loss = paired_difference(losses(row, *row.dense));
  row.speedup_shared = ratio_of_logs(logs);
  row.notes[kUnpaired] = row.loss.n < row.accuracy.n;
}

void judge_time(Row& row) {
  row.speedup = timed_ratio(row.timings);
  row.backward = timed_ratio(row.timings, &RunMeasurements::backward);
  std::set<int64_t> hosts;
  for (const auto& [cell, run] : row.timings) {
    row.block_pairs += static_cast<int64_t>(run->measured->blocks.size());
    hosts.insert(run->host_id);
    row.notes[kEarlierRules] |= run->earlier_rules;
    row.notes[kTimedByBuilds] |= !same_build(*run, *row.timings.front().run);
  }
  row.timed_on = static_cast<int64_t>(hosts.size());
  row.notes[kFewProcesses] = row.speedup.n > 0 && row.speedup.n < kProcessesForATiming;
}

void judge_ceiling(Row& row) {
  if (is_dense(*row.first)) return;
  // Ranks gain by what they do not send, too, and each may approximate other layers.
  if (row.first->config.ranks > 1) return;
  // A selection leaves out examples, of which the layers' counts say nothing.
  if (!row.first->config.selection.empty()) return;
  std::vector<double> ceilings, estimates;
  for (const auto& [cell, run] : row.timings) {
    const auto& phases = run->measured->phases;
    const auto& layers = run->measured->layers;
    if (phases.empty() || layers.empty()) continue;
    double touched = 0, saved = 0;
    for (const Product product : kAllProducts) {
      const auto share = phases.find(std::string(name(product)));
      if (share == phases.end()) continue;
      double dense = 0, approximated = 0, done = 0;
      for (const auto& count : layers) {
        if (count.product != product) continue;
        dense += static_cast<double>(count.macs_dense);
        done += static_cast<double>(count.macs_done);
        if (!is_dense(count.method)) approximated += static_cast<double>(count.macs_dense);
      }
      if (dense <= 0) continue;
      touched += share->second * approximated / dense;
      saved += share->second * (1 - done / dense);
    }
    if (touched >= 1 || saved >= 1) continue;
    ceilings.push_back(1 / (1 - touched));
    estimates.push_back(1 / (1 - saved));
  }
  if (ceilings.empty()) return;
  row.ceiling_of_runs = summarize(ceilings);
  row.estimate_of_runs = summarize(estimates);
  row.ceiling = quantile(std::move(ceilings), 0.5);
  row.estimate = quantile(std::move(estimates), 0.5);
  row.notes[kAboveCeiling] = row.speedup.lo && *row.speedup.lo > *row.ceiling;
}

void judge_realisation(Row& row) {
  if (!row.first->config.selection.empty()) return;
  const auto reduction = [](const CellRuns& runs) {
    return summarize(values_of(
        runs, [](const RunMeasurements& measured) { return measured.compute_reduction(); }));
  };
  const Summary trained = reduction(runs_of(row, Purpose::kAccuracy));
  row.compute_reduction = trained.n > 0 ? trained : reduction(runs_of(row, Purpose::kTiming));
  // What a smaller network saves is another thing than what is left out of its products.
  if (row.notes[kOtherNetwork]) return;
  // Of the steps that were timed: at the beginning of a training less may be left out than later.
  const Summary timed = reduction(row.timings);
  row.realisation =
      realisation(row.speedup, (timed.n > 0 ? timed : row.compute_reduction).mean / 100);
}

Contents contents_of(const Snapshot& snapshot, const ReportOptions& options) {
  if (options.item == nullptr) {
    return read_contents(snapshot, options.experiment, options.catalogue);
  }
  Contents contents = read_item_contents(snapshot, *options.item, options.catalogue);
  std::erase_if(contents.cells, [](const Cell& cell) { return !cell.planned; });
  return contents;
}

void judge_target(Row& row, const std::optional<double>& given,
                  const std::vector<StoredTarget>& stored) {
  for (const auto* cells : {&row.cells, &row.stopped}) {
    for (const auto* cell : *cells) {
      if (cell->target) row.target = cell->target;
    }
  }
  if (given) row.target = given;
  if (!row.target) {
    row.stored_target = stored_target(row, stored);
    if (row.stored_target == nullptr) return;
    row.target = row.stored_target->share;
    row.notes[kFewTargetRuns] = row.stored_target->runs() < kDenseRunsForATarget;
  }
  std::vector<double> times;
  for (const auto& [cell, run] : target_runs(row, *row.target)) {
    const auto& evaluations = cell->judged();
    if (!run->result() && evaluations.empty()) continue;
    ++row.target_runs;
    // Of one that was cut off no more is known than its evaluations say.
    const int64_t ns = run->result() ? run->train_ns.value_or(0) : evaluations.back().train_ns;
    row.target_budget = std::max(row.target_budget, static_cast<double>(ns) / kNsPerSecond);
    const auto* reached = first_reaching(evaluations, *row.target);
    if (reached != nullptr) times.push_back(static_cast<double>(reached->train_ns) / kNsPerSecond);
  }
  row.time_to_target = summarize(times);
}

}  // namespace

RowSet::RowSet(const Snapshot& snapshot, const ReportOptions& options, Depth depth)
    : RowSet(contents_of(snapshot, options), options.include_tainted, options.target, depth) {}

RowSet::RowSet(Contents contents, bool include_tainted, std::optional<double> target, Depth depth)
    : contents_(std::move(contents)), include_tainted_(include_tainted), target_(target) {
  group();
  find_dense();
  for (auto& row : rows_) find_timings(row);
  for (auto& row : rows_) count(row);
  if (depth == Depth::kJudged) judge();
  find_differing();
}

std::shared_ptr<const RowSet> rows_of(const Snapshot& snapshot, const ReportOptions& options) {
  const auto make = [&] { return std::make_shared<const RowSet>(snapshot, options); };
  if (options.item != nullptr) return make();  // it has no name of its own
  const std::string key =
      fmt::format("rows {} {} {} {}", fmt::ptr(options.catalogue), options.include_tainted,
                  options.target ? shortest(*options.target) : "", options.experiment);
  return std::static_pointer_cast<const RowSet>(snapshot.kept(key, make));
}

void RowSet::judge() {
  for (auto& row : rows_) {
    judge_accuracy(row);
    judge_loss(row);
    judge_time(row);
    judge_target(row, target_, contents_.targets);
    judge_throughput(row);
    judge_ceiling(row);
    judge_realisation(row);
  }
  for (auto& row : rows_) judge_stock(row);
  adjust_p();
}

void RowSet::group() {
  std::map<RowKey, size_t> known;
  for (const auto& cell : contents_.cells) {
    const auto [at, added] = known.emplace(row_key(cell), rows_.size());
    if (added) rows_.emplace_back().first = &cell;
    Row& row = rows_[at->second];
    (may_end_early(cell.config) ? row.stopped : row.cells).push_back(&cell);
  }
  for (auto& row : rows_) {
    std::set<int64_t> whole;
    for (const auto& [cell, run] : accuracy_runs(row, /*diverged=*/true))
      whole.insert(cell->config.seed);
    std::erase_if(row.stopped, [&](const Cell* cell) { return whole.contains(cell->config.seed); });
  }
}

void RowSet::find_dense() {
  for (auto& row : rows_) {
    const Row *at_its_rate = nullptr, *otherwise_timed = nullptr;
    for (const auto& other : rows_) {
      if (!is_dense(*other.first) || other.first->config.network != row.first->config.network ||
          other.first->config.dataset != row.first->config.dataset)
        continue;
      if (other.first->setting == row.first->setting) row.dense = &other;
      if (other.first->settings == row.first->settings) at_its_rate = &other;
      if (differ_in_graphs_alone(*other.first, *row.first)) otherwise_timed = &other;
    }
    // What was trained at one rate may share its exact training with a tuned experiment.
    if (row.dense == nullptr) row.dense = at_its_rate;
    if (row.dense == nullptr) row.dense = otherwise_timed;
  }
}

int64_t RowSet::untuned_arms() const {
  return std::ranges::count_if(contents_.untuned, [this](const LabelKey& arm) {
    return std::ranges::none_of(contents_.cells, [&arm](const Cell& cell) {
      return arm == LabelKey{cell.method_label, cell.schedule_label, cell.network_label} ||
             (arm.method == cell.method_label && is_dense(cell));
    });
  });
}

void RowSet::adjust_p() {
  std::vector<Row*> declared;
  std::vector<std::optional<double>> p;
  for (auto& row : rows_) {
    const bool is_arm =
        !is_dense(*row.first) && std::ranges::any_of(row.cells, [](const Cell* cell) {
          return cell->is(Purpose::kAccuracy);
        });
    if (!is_arm && !row.loss.p) continue;
    declared.push_back(&row);
    p.push_back(row.loss.p);
  }
  p.resize(p.size() + static_cast<size_t>(untuned_arms()));  // declared, and not tested yet
  const auto adjusted = holm_of_declared(p);
  for (size_t i = 0; i < declared.size(); ++i) declared[i]->loss_p_holm = adjusted[i];
  declared_losses_ = static_cast<int64_t>(p.size());
}

void RowSet::find_timings(Row& row) const {
  for (const auto* cells : {&row.cells, &row.stopped}) {
    row.notes[kOtherNetwork] |= std::ranges::any_of(*cells, [](const Cell* cell) {
      return cell->run() != nullptr && cell->run()->finished() &&
             !cell->config.timed_against.empty();
    });
  }
  for (const auto& [cell, run] : runs_of(row, Purpose::kTiming)) {
    // An exact training against itself says nothing beside one against another network.
    if (row.notes[kOtherNetwork] && cell->config.timed_against.empty()) continue;
    if (run->timing_valid || include_tainted_) {
      row.timings.push_back({cell, run});
    } else {
      row.notes[kTainted] = true;
    }
  }
}

void RowSet::find_differing() {
  struct Values {
    std::set<std::string> all;
    size_t rows = 0, settings = 0;  // that have it, and that have it as a setting
  };
  std::map<std::string, Values> values;
  for (const auto& row : rows_) {
    for (const auto& [key, value] : row.first->settings) {
      auto& seen = values[key];
      seen.all.insert(value);
      ++seen.rows;
      if (row.first->must_equal(key)) ++seen.settings;
    }
  }
  for (const auto& [key, seen] : values) {
    if (seen.settings > 0 && (seen.all.size() > 1 || seen.rows != rows_.size())) {
      differing_.insert(key);
    }
  }
}

std::string RowSet::setting(const Row& row) const {
  std::string text;
  for (const auto& [key, value] : row.first->settings) {
    if (!differing_.contains(key) || !row.first->must_equal(key)) continue;
    text += (text.empty() ? "" : " ") + key + "=" + value;
  }
  return text;
}

std::string RowSet::tuned_rate(const Row& row) {
  for (const auto& [key, value] : row.first->settings) {
    if (!row.first->must_equal(key)) return value;
  }
  return "";
}

bool RowSet::tuned_rates_differ() const {
  std::set<std::string> rates;
  for (const auto& row : rows_) rates.insert(tuned_rate(row));
  return rates.size() > 1;
}

void RowSet::judge_throughput(Row& row) const {
  if (row.notes[kInPython]) return;
  std::vector<double> speeds, of_runs;
  const auto add_run = [&](const Run& run, const std::vector<double>& step_ns) {
    if (step_ns.empty()) return;
    const int64_t images = run.batch_images.value_or(row.first->config.batch_size);
    std::vector<double> of_run;
    for (const double ns : step_ns) {
      of_run.push_back(static_cast<double>(images) * kNsPerSecond / ns);
    }
    speeds.insert(speeds.end(), of_run.begin(), of_run.end());
    of_runs.push_back(quantile(std::move(of_run), 0.5));
  };
  const auto add_blocks = [&](const Row& timed, double BlockPair::*ns) {
    for (const auto& [cell, run] : timed.timings) {
      std::vector<double> blocks;
      for (const auto& pair : run->measured->blocks) blocks.push_back(pair.*ns);
      add_run(*run, blocks);
    }
  };
  add_blocks(row, &BlockPair::approx_ns);
  if (speeds.empty() && row.dense == &row) {
    // Every timing run of a method has dense blocks as well.
    for (const auto& other : rows_) {
      if (other.dense == &row) add_blocks(other, &BlockPair::dense_ns);
    }
  }
  if (speeds.empty()) {
    for (const auto& [cell, run] : accuracy_runs(row, /*diverged=*/false)) {
      if (run->step_ns_median && *run->step_ns_median > 0) add_run(*run, {*run->step_ns_median});
    }
    row.notes[kShared] = !speeds.empty();
  }
  if (speeds.empty()) return;
  row.images_per_s = quantile(std::move(speeds), 0.5);
  row.images_of_runs = summarize(of_runs);
}

}  // namespace approx
