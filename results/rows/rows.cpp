#include "results/rows/rows.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <utility>

#include "results/store/run_store.h"

namespace approx {

namespace {

// As events and the store name the plan of the exact product.
constexpr std::string_view kExactPlan = "Dense";

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
  return fmt::format("its speed was timed in {} {}, a verdict needs {}", row.speedup.n,
                     row.speedup.n == 1 ? "process" : "processes", kProcessesForAVerdict);
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

std::vector<AccuracyRun> accuracy_runs(const Row& row, bool diverged) {
  std::vector<AccuracyRun> runs;
  for (const auto* cell : row.cells) {
    const Run* run = cell->run();
    if (!cell->is(Purpose::kAccuracy) || run == nullptr) continue;
    if (run->finished() || (diverged && run->result())) runs.push_back({cell, run});
  }
  return runs;
}

std::optional<double> compute_reduction(const Measurements& measured, const Run& run,
                                        bool approximated) {
  const auto counts = measured.layers.find(run.run_id);
  if (counts == measured.layers.end()) return std::nullopt;
  double dense = 0, done = 0;
  for (const auto& count : counts->second) {
    if (approximated && is_dense(count.method)) continue;
    dense += static_cast<double>(count.macs_dense);
    done += static_cast<double>(count.macs_done);
  }
  return dense > 0 ? std::optional(100 * (1 - done / dense)) : std::nullopt;
}

bool approximated_nothing(const Measurements& measured, const Run& run) {
  const auto counts = measured.layers.find(run.run_id);
  if (counts == measured.layers.end()) return false;
  // A sample of all channels leaves nothing out, but its scales may change every term.
  const auto variants = measured.variants.find(run.run_id);
  if (variants != measured.variants.end() &&
      std::ranges::any_of(variants->second,
                          [](const VariantCount& count) { return count.plan != kExactPlan; })) {
    return false;
  }
  // A method that changes signs, adds noise or rounds leaves nothing out either: it has a density.
  return std::ranges::none_of(counts->second, [](const LayerCount& count) {
    return !is_dense(count.method) && (count.macs_done < count.macs_dense || count.density);
  });
}

std::optional<double> communication_reduction(const Measurements& measured, const Run& run) {
  const auto counts = measured.traffic.find(run.run_id);
  if (counts == measured.traffic.end()) return std::nullopt;
  double dense = 0, sent = 0;
  for (const auto& count : counts->second) {
    dense += static_cast<double>(count.bytes_dense);
    sent += static_cast<double>(count.bytes);
  }
  return dense > 0 ? std::optional(100 * (1 - sent / dense)) : std::nullopt;
}

RowSet::RowSet(const Snapshot& snapshot, const ReportOptions& options, Depth depth)
    : RowSet(read_contents(snapshot, options.experiment, options.catalogue),
             options.include_tainted, options.target, depth) {}

RowSet::RowSet(Contents contents, bool include_tainted, std::optional<double> target, Depth depth)
    : contents_(std::move(contents)), include_tainted_(include_tainted), target_(target) {
  group();
  if (depth == Depth::kJudged) judge();
  find_differing();
}

void RowSet::judge() {
  for (auto& row : rows_) {
    count(row);
    judge_accuracy(row);
    judge_loss(row);
    judge_time(row);
    judge_target(row);
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
    (cell.config.stop_at > 0 ? row.stopped : row.cells).push_back(&cell);
  }
  for (auto& row : rows_) {
    std::set<int64_t> whole;
    for (const auto& [cell, run] : accuracy_runs(row, /*diverged=*/true))
      whole.insert(cell->config.seed);
    std::erase_if(row.stopped, [&](const Cell* cell) { return whole.contains(cell->config.seed); });
  }
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

void RowSet::count(Row& row) const {
  std::set<int64_t> hosts;
  std::vector<const Cell*> cells = row.cells;
  cells.insert(cells.end(), row.stopped.begin(), row.stopped.end());
  row.notes[kStopped] = !row.stopped.empty();
  for (const auto* cell : cells) {
    const Run* run = cell->run();
    if (run == nullptr || run->state == RunState::kRunning || run->state == RunState::kLost ||
        run->state == RunState::kInterrupted) {
      ++row.missing;
      continue;
    }
    ++(run->finished() ? row.finished : run->result() ? row.diverged : row.failed);
    if (!run->result()) continue;
    hosts.insert(run->host_id);
    row.notes[kLossy] |= run->lossy;
    row.notes[kDirty] |= run->dirty;
    row.notes[kShortSeconds] |= run->short_seconds;
    row.notes[kEarlierVersion] |= run->earlier_version;
    row.notes[kResumed] |= cell->is(Purpose::kAccuracy) && run->tainted;
    row.notes[kDiverged] |= cell->is(Purpose::kAccuracy) && !run->finished();
    // The counts of several ranks are those of one, and others may approximate.
    const bool alone = cell->config.ranks == 1;
    row.notes[kIdle] |= alone && !is_dense(*cell) && approximated_nothing(measured(), *run);
    row.notes[kOtherNetwork] |= run->finished() && !cell->config.timed_against.empty();
  }
  row.notes[kMixedHosts] = hosts.size() > 1;
  if (row.dense == nullptr || hosts.empty()) return;
  const auto exact = accuracy_runs(*row.dense, /*diverged=*/true);
  row.notes[kTimesElsewhere] = !accuracy_runs(row, /*diverged=*/true).empty() && !exact.empty() &&
                               std::ranges::none_of(exact, [&](const auto& each) {
                                 return hosts.contains(each.run->host_id);
                               });
}

const std::vector<CurvePoint>& RowSet::evaluations(const Run& run, const std::string& split) const {
  static const std::vector<CurvePoint> none;
  const auto it = measured().accuracy.find({run.run_id, split});
  return it == measured().accuracy.end() ? none : it->second;
}

const std::vector<CurvePoint>& RowSet::judged(const Cell& cell, const Run& run) const {
  const auto& holdout = evaluations(run, "holdout");
  return cell.config.split == SplitKind::kHoldout && !holdout.empty() ? holdout
                                                                      : evaluations(run, "test");
}

std::optional<double> RowSet::final_accuracy(const Cell& cell) const {
  const Run* run = cell.run();
  if (!cell.is(Purpose::kAccuracy) || cell.config.stop_at > 0) return std::nullopt;
  if (run == nullptr || !run->finished()) return std::nullopt;
  const auto& tests = evaluations(*run, "test");
  return tests.empty() ? std::nullopt : std::optional(100 * tests.back().value);
}

std::optional<double> RowSet::best_accuracy(const Cell& cell) const {
  if (!final_accuracy(cell)) return std::nullopt;
  const Run& run = *cell.run();
  const auto& by = judged(cell, run);
  const auto best =
      std::max_element(by.begin(), by.end(),
                       [](const CurvePoint& a, const CurvePoint& b) { return a.value < b.value; });
  for (const auto& test : evaluations(run, "test")) {
    if (test.step == best->step) return 100 * test.value;
  }
  return std::nullopt;
}

void RowSet::judge_accuracy(Row& row) const {
  std::vector<double> finals, bests;
  for (const auto* cell : row.cells) {
    if (const auto value = final_accuracy(*cell)) finals.push_back(*value);
    if (const auto value = best_accuracy(*cell)) bests.push_back(*value);
  }
  row.accuracy = summarize(finals);
  row.best = summarize(bests);
  row.notes[kFew] = row.accuracy.n > 0 && row.accuracy.n < kFewSeeds;
}

std::vector<RowSet::PairedLoss> RowSet::paired_losses(const Row& row, const Row& dense,
                                                      bool best) const {
  std::vector<PairedLoss> losses;
  for (const auto* cell : row.cells) {
    const Cell* other = partner(&dense, *cell, Machine::kAny);
    if (other == nullptr) continue;
    const auto ours = best ? best_accuracy(*cell) : final_accuracy(*cell);
    const auto theirs = best ? best_accuracy(*other) : final_accuracy(*other);
    if (ours && theirs) losses.push_back({.points = *theirs - *ours, .dense = *theirs});
  }
  return losses;
}

std::vector<double> RowSet::losses(const Row& row, const Row& dense, bool best) const {
  std::vector<double> losses;
  for (const auto& pair : paired_losses(row, dense, best)) losses.push_back(pair.points);
  return losses;
}

void RowSet::judge_loss(Row& row) const {
  if (row.dense == nullptr || row.dense == &row) return;
  std::vector<double> logs;
  for (const auto* cell : row.cells) {
    const Cell* dense = partner(row.dense, *cell, Machine::kAny);
    if (dense == nullptr || !final_accuracy(*cell) || !final_accuracy(*dense)) continue;
    row.notes[kMixedBuilds] |= !same_build(*cell->run(), *dense->run());
    if (cell->run()->host_id != dense->run()->host_id) {
      row.notes[kPairsOfMachines] = true;
      continue;
    }
    if (cell->run()->short_seconds || dense->run()->short_seconds) continue;
    const auto ours = cell->run()->train_ns, theirs = dense->run()->train_ns;
    if (ours && theirs && *ours > 0 && *theirs > 0) {
      logs.push_back(std::log(static_cast<double>(*theirs) / static_cast<double>(*ours)));
    }
  }
  row.loss = paired_difference(losses(row, *row.dense, /*best=*/false));
  row.speedup_shared = ratio_of_logs(logs);
  row.notes[kUnpaired] = row.loss.n < row.accuracy.n;
}

void RowSet::adjust_p() {
  std::vector<std::optional<double>> p;
  for (const auto& row : rows_) p.push_back(row.loss.p);
  const auto adjusted = holm_of_known(p);
  for (size_t i = 0; i < rows_.size(); ++i) rows_[i].loss_p_holm = adjusted[i];
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

std::vector<const Run*> RowSet::timings(const Row& row, bool* left_out) const {
  std::vector<const Run*> runs;
  for (const auto* cell : row.cells) {
    const Run* run = cell->run();
    if (!cell->is(Purpose::kTiming) || run == nullptr || !run->finished()) continue;
    // An exact training against itself says nothing beside one against another network.
    if (row.notes[kOtherNetwork] && cell->config.timed_against.empty()) continue;
    if (run->timing_valid || include_tainted_) {
      runs.push_back(run);
    } else if (left_out != nullptr) {
      *left_out = true;
    }
  }
  return runs;
}

std::vector<std::vector<BlockPair>> RowSet::block_pairs(const Row& row, Timed timed,
                                                        bool* left_out) const {
  const auto& of_runs = timed == Timed::kSteps ? measured().blocks : measured().backward;
  std::vector<std::vector<BlockPair>> groups;
  for (const Run* run : timings(row, left_out)) {
    const auto pairs = of_runs.find(run->run_id);
    if (pairs != of_runs.end()) groups.push_back(pairs->second);
  }
  return groups;
}

void RowSet::judge_time(Row& row) const {
  const auto ratio = [](const std::vector<std::vector<BlockPair>>& groups) {
    std::vector<std::vector<double>> logs;
    for (const auto& pairs : groups) {
      auto& group = logs.emplace_back();
      for (const auto& pair : pairs) group.push_back(std::log(pair.dense_ns / pair.approx_ns));
    }
    return ratio_of_processes(logs);
  };
  const auto steps = block_pairs(row, Timed::kSteps, &row.notes[kTainted]);
  for (const auto& pairs : steps) row.block_pairs += static_cast<int64_t>(pairs.size());
  row.speedup = ratio(steps);
  row.backward = ratio(block_pairs(row, Timed::kBackward));
  const auto timed = timings(row);
  std::set<int64_t> hosts;
  for (const Run* run : timed) {
    hosts.insert(run->host_id);
    row.notes[kEarlierRules] |= run->earlier_rules;
    row.notes[kTimedByBuilds] |= !same_build(*run, *timed.front());
  }
  row.timed_on = static_cast<int64_t>(hosts.size());
  row.notes[kFewProcesses] = row.speedup.n > 0 && row.speedup.n < kProcessesForATiming;
}

void RowSet::judge_ceiling(Row& row) const {
  if (is_dense(*row.first)) return;
  // Ranks gain by what they do not send, too, and each may approximate other layers.
  if (row.first->config.ranks > 1) return;
  std::vector<double> ceilings, estimates;
  for (const Run* run : timings(row)) {
    const auto phases = measured().phases.find(run->run_id);
    const auto layers = measured().layers.find(run->run_id);
    if (phases == measured().phases.end() || layers == measured().layers.end()) continue;
    double touched = 0, saved = 0;
    for (const Product product : kAllProducts) {
      const auto share = phases->second.find(std::string(name(product)));
      if (share == phases->second.end()) continue;
      double dense = 0, approximated = 0, done = 0;
      for (const auto& count : layers->second) {
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
  row.ceiling = quantile(ceilings, 0.5);
  row.estimate = quantile(estimates, 0.5);
  row.notes[kAboveCeiling] = row.speedup.lo && *row.speedup.lo > *row.ceiling;
}

void RowSet::judge_realisation(Row& row) const {
  const auto reductions = [&](Purpose purpose) {
    std::vector<double> values;
    for (const auto* cell : row.cells) {
      const Run* run = cell->run();
      if (!cell->is(purpose) || run == nullptr || !run->finished()) continue;
      if (const auto value = approx::compute_reduction(measured(), *run, /*approximated=*/false)) {
        values.push_back(*value);
      }
    }
    return summarize(values);
  };
  const Summary trained = reductions(Purpose::kAccuracy);
  row.compute_reduction = trained.n > 0 ? trained : reductions(Purpose::kTiming);
  // What a smaller network saves is another thing than what is left out of its products.
  if (row.notes[kOtherNetwork]) return;
  // Of the steps that were timed: at the beginning of a training less may be left out than later.
  std::vector<double> timed;
  for (const Run* run : timings(row)) {
    const auto value = approx::compute_reduction(measured(), *run, /*approximated=*/false);
    if (value) timed.push_back(*value);
  }
  const double saved = timed.empty() ? row.compute_reduction.mean : summarize(timed).mean;
  row.realisation = realisation(row.speedup, saved / 100);
}

void RowSet::judge_throughput(Row& row) const {
  std::vector<double> speeds;
  const auto add = [&](const Run& run, double ns) {
    const int64_t images = run.batch_images.value_or(row.first->config.batch_size);
    speeds.push_back(static_cast<double>(images) * kNsPerSecond / ns);
  };
  const auto add_blocks = [&](const Row& timed, double BlockPair::*ns) {
    for (const Run* run : timings(timed)) {
      const auto pairs = measured().blocks.find(run->run_id);
      if (pairs == measured().blocks.end()) continue;
      for (const auto& pair : pairs->second) add(*run, pair.*ns);
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
      if (run->step_ns_median && *run->step_ns_median > 0) add(*run, *run->step_ns_median);
    }
    row.notes[kShared] = !speeds.empty();
  }
  if (!speeds.empty()) row.images_per_s = quantile(speeds, 0.5);
}

std::vector<Notes> notes_of(const std::vector<const Row*>& rows) {
  std::vector<Notes> notes;
  for (const auto* row : rows) notes.push_back(row->notes);
  return notes;
}

}  // namespace approx
