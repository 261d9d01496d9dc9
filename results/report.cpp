#include "results/report.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <tuple>

#include "results/database.h"
#include "results/run_store.h"
#include "results/stats.h"

namespace approx {
namespace {

constexpr double kNsPerSecond = 1e9;
constexpr int64_t kFewSeeds = 5;

// --- text ---

// Never "-0.00".
std::string fixed(double value, int digits) {
  std::string text = fmt::format("{:.{}f}", value, digits);
  if (text.starts_with("-") && text.find_first_not_of("-0.") == std::string::npos) text.erase(0, 1);
  return text;
}

std::string with_interval(const Summary& summary, int digits) {
  if (summary.n == 0) return "–";
  if (!summary.half) return fmt::format("{} (n={})", fixed(summary.mean, digits), summary.n);
  return fmt::format("{} ± {}", fixed(summary.mean, digits), fixed(*summary.half, digits));
}

std::string ratio_text(const Ratio& ratio) {
  if (ratio.n == 0) return "–";
  const std::string value = fmt::format("{:.2f}×", ratio.ratio);
  if (!ratio.lo) return fmt::format("{} (n={})", value, ratio.n);
  return fmt::format("{} [{:.2f}, {:.2f}]", value, *ratio.lo, *ratio.hi);
}

template <typename T>
Field field(const std::optional<T>& value) {
  return value ? Field(*value) : Field();
}

std::string text_at(SQLite::Statement& row, int at) { return row.getColumn(at).getString(); }

// --- what the store holds ---

// One of the settings that must be equal inside a row, for people.
using Settings = std::vector<std::pair<std::string, std::string>>;

struct Run {
  int64_t run_id = 0, attempt = 0, host_id = 0, dataset_id = 0;
  std::string state;
  bool lossy = false, dirty = false, timing_valid = false, tainted = false;
  std::optional<int64_t> train_ns;
  std::optional<double> step_ns_median;

  bool result() const { return state == RunState::kFinished || state == RunState::kDiverged; }
  bool finished() const { return state == RunState::kFinished; }
};

struct Cell {
  int64_t cell_id = 0, seed = 0, batch_size = 0;
  std::string purpose, method, schedule, network, dataset, split;
  std::string recipe, setting;  // setting: all that must be equal, as one text
  Settings settings;
  // From the experiment that names it, the last one where there are several.
  std::string method_label, schedule_label, network_label;
  std::pair<int64_t, int64_t> order;  // experiment, position in it
  std::optional<double> target;
  std::vector<Run> runs;  // by attempt

  // The attempt that counts: the last with a result, else the last. None without attempts.
  const Run* run() const {
    for (auto run = runs.rbegin(); run != runs.rend(); ++run) {
      if (run->result()) return &*run;
    }
    return runs.empty() ? nullptr : &runs.back();
  }
};

struct Evaluation {
  int64_t step = 0, train_ns = 0;
  double accuracy = 0;
};

struct BlockPair {
  double dense_ns = 0, approx_ns = 0;  // of a step
};

struct Contents {
  std::vector<Cell> cells;
  std::map<std::pair<int64_t, std::string>, std::vector<Evaluation>> evaluations;  // run, split
  std::map<int64_t, std::vector<BlockPair>> blocks;                                // run
  std::vector<std::string> excluded;
};

std::string experiment_name(SQLite::Database& db, const std::string& given) {
  if (given.empty()) return "";
  const std::string name = given.starts_with("@") ? given.substr(1) : given;
  std::vector<std::string> known;
  for_each_row(db, "SELECT name FROM experiment ORDER BY name",
               [&](SQLite::Statement& row) { known.push_back(text_at(row, 0)); });
  if (std::find(known.begin(), known.end(), name) != known.end()) return name;
  throw usage_error("no experiment \"{}\" in the store{}; it has: {}", name,
                    did_you_mean(name, known),
                    known.empty() ? "none" : fmt::format("{}", fmt::join(known, ", ")));
}

// Recipes are JSON objects; anything else stands for itself.
void add_recipe(const std::string& recipe, Settings& settings) {
  const Json json = Json::parse(recipe, nullptr, /*allow_exceptions=*/false);
  if (!json.is_object()) {
    settings.emplace_back("recipe", recipe);
    return;
  }
  for (const auto& [key, value] : json.items()) {
    settings.emplace_back(key, value.is_string() ? value.get<std::string>() : value.dump());
  }
}

std::vector<Cell> read_cells(SQLite::Database& db, const std::string& experiment) {
  std::map<int64_t, Cell> cells;
  for_each_row(
      db,
      "SELECT c.cell_id, c.purpose, c.method, c.schedule, c.network, c.dataset, c.seed, c.split, "
      "c.train_examples, c.recipe, c.batch_size, c.precision, c.threads, c.device, m.method_label, "
      "m.schedule_label, m.network_label, e.experiment_id, m.position, e.target_value "
      "FROM v_cell c JOIN experiment_cell m USING(cell_id) JOIN experiment e USING(experiment_id) "
      "WHERE ?1 = '' OR e.name = ?1 ORDER BY e.experiment_id",
      [&](SQLite::Statement& row) {
        Cell& cell = cells[row.getColumn(0).getInt64()];
        const auto target = optional_real(row.getColumn(19));
        if (cell.cell_id == 0) {
          cell.cell_id = row.getColumn(0).getInt64();
          cell.purpose = text_at(row, 1), cell.method = text_at(row, 2);
          cell.schedule = text_at(row, 3), cell.network = text_at(row, 4);
          cell.dataset = text_at(row, 5), cell.seed = row.getColumn(6).getInt64();
          cell.split = text_at(row, 7), cell.recipe = text_at(row, 9);
          cell.batch_size = row.getColumn(10).getInt64();
          cell.settings = {{"split", text_at(row, 7)},       {"train_examples", text_at(row, 8)},
                           {"batch_size", text_at(row, 10)}, {"precision", text_at(row, 11)},
                           {"threads", text_at(row, 12)},    {"device", text_at(row, 13)}};
          add_recipe(cell.recipe, cell.settings);
          for (const auto& [key, value] : cell.settings) cell.setting += key + "=" + value + ";";
        }
        cell.method_label = text_at(row, 14), cell.schedule_label = text_at(row, 15);
        cell.network_label = text_at(row, 16);
        cell.order = {row.getColumn(17).getInt64(), row.getColumn(18).getInt64()};
        if (target || !experiment.empty()) cell.target = target;
      },
      experiment);
  for_each_row(db,
               "SELECT r.cell_id, r.run_id, r.attempt, r.host_id, coalesce(r.dataset_id, 0), "
               "r.state, coalesce(d.lossy, 0), b.dirty, r.timing_valid, r.train_ns, "
               "r.step_ns_median, r.taint <> '[]' FROM run r JOIN build b USING(build_id) "
               "LEFT JOIN dataset d USING(dataset_id) ORDER BY r.cell_id, r.attempt",
               [&](SQLite::Statement& row) {
                 const auto cell = cells.find(row.getColumn(0).getInt64());
                 if (cell == cells.end()) return;
                 Run& run = cell->second.runs.emplace_back();
                 run.run_id = row.getColumn(1).getInt64();
                 run.attempt = row.getColumn(2).getInt64();
                 run.host_id = row.getColumn(3).getInt64();
                 run.dataset_id = row.getColumn(4).getInt64();
                 run.state = text_at(row, 5);
                 run.lossy = row.getColumn(6).getInt() != 0;
                 run.dirty = row.getColumn(7).getInt() != 0;
                 run.timing_valid = row.getColumn(8).getInt() != 0;
                 run.train_ns = optional_integer(row.getColumn(9));
                 run.step_ns_median = optional_real(row.getColumn(10));
                 run.tainted = row.getColumn(11).getInt() != 0;
               });
  std::vector<Cell> sorted;
  for (auto& [id, cell] : cells) sorted.push_back(std::move(cell));
  std::stable_sort(sorted.begin(), sorted.end(),
                   [](const Cell& a, const Cell& b) { return a.order < b.order; });
  return sorted;
}

Contents read_contents(const std::string& path, const ReportOptions& options) {
  Contents contents;
  auto db = open_snapshot(path);
  const std::string experiment = experiment_name(db, options.experiment);
  contents.cells = read_cells(db, experiment);
  for_each_row(db,
               "SELECT run_id, split, step, train_ns, value FROM metric "
               "WHERE name = 'accuracy' AND value IS NOT NULL ORDER BY run_id, split, step",
               [&](SQLite::Statement& row) {
                 contents.evaluations[{row.getColumn(0).getInt64(), text_at(row, 1)}].push_back(
                     {row.getColumn(2).getInt64(), row.getColumn(3).getInt64(),
                      row.getColumn(4).getDouble()});
               });
  for_each_row(db,
               "SELECT run_id, 1.0 * dense_ns / dense_steps, 1.0 * approx_ns / approx_steps "
               "FROM v_timing ORDER BY run_id, pair",
               [&](SQLite::Statement& row) {
                 contents.blocks[row.getColumn(0).getInt64()].push_back(
                     {row.getColumn(1).getDouble(), row.getColumn(2).getDouble()});
               });
  for_each_row(
      db,
      "SELECT m.network_label, m.dataset, m.schedule_label, m.method_label, m.excluded, count(*) "
      "FROM experiment_cell m JOIN experiment e USING(experiment_id) "
      "WHERE m.cell_id IS NULL AND (?1 = '' OR e.name = ?1) GROUP BY 1, 2, 3, 4, 5 "
      "ORDER BY min(e.experiment_id), min(m.position)",
      [&](SQLite::Statement& row) {
        std::string what = text_at(row, 3);
        if (!text_at(row, 2).empty()) what += ", " + text_at(row, 2);
        contents.excluded.push_back(fmt::format("left out: {} on {} / {} ({} runs): {}", what,
                                                text_at(row, 0), text_at(row, 1),
                                                row.getColumn(5).getInt64(), text_at(row, 4)));
      },
      experiment);
  return contents;
}

// --- the main table ---

// What a row of the table must be read with, in the order of the letters.
enum Note {
  kFew,
  kDiverged,
  kUnpaired,
  kLossy,
  kDirty,
  kShared,
  kMixed,
  kTainted,
  kResumed,
  kNotes
};

constexpr const char* kNoteNames[kNotes] = {"few seeds",   "diverged",       "unpaired seeds",
                                            "lossy data",  "dirty build",    "not isolated",
                                            "mixed hosts", "tainted timing", "resumed runs"};
constexpr const char* kNoteTexts[kNotes] = {
    "fewer than 5 seeds; one seed has no interval",
    "means are over the runs that did not diverge",
    "the loss leaves out seeds without a dense run on the same machine and data",
    "lossy data: the images went through JPEG",
    "built from sources with uncommitted changes",
    "images/s of runs that may have shared the machine",
    "runs of several machines",
    "timing runs that were disturbed or shared the machine are left out",
    "runs that were interrupted and went on from a checkpoint: their times are of several "
    "processes"};

struct Row {
  const Cell* first = nullptr;
  std::vector<const Cell*> cells;
  const Row* dense = nullptr;  // its baseline; itself for dense

  int64_t finished = 0, diverged = 0, failed = 0, missing = 0;
  Summary accuracy, best;  // percent
  PairedDifference loss;   // percentage points, positive: worse than dense
  std::optional<double> loss_p_holm;
  Ratio speedup, speedup_shared;
  int64_t timing_runs = 0;
  std::optional<double> target;
  Summary time_to_target;  // s, over the runs that reached it
  int64_t target_runs = 0;
  double target_budget = 0;  // s, the longest training among the runs
  std::optional<double> images_per_s;
  bool notes[kNotes] = {};
};

using RowKey = std::tuple<std::string, std::string, std::string, std::string, std::string>;

class TableMaker {
 public:
  TableMaker(const Contents& contents, const ReportOptions& options)
      : contents_(contents), options_(options) {
    group();
    for (auto& row : rows_) {
      count(row);
      judge_accuracy(row);
      judge_loss(row);
      judge_time(row);
      judge_target(row);
      judge_throughput(row);
    }
    adjust_p();
  }

  Table table() const;

 private:
  void group() {
    std::map<RowKey, size_t> known;
    for (const auto& cell : contents_.cells) {
      const RowKey key{cell.network, cell.dataset, cell.setting, cell.schedule, cell.method};
      const auto [at, added] = known.emplace(key, rows_.size());
      if (added) rows_.emplace_back().first = &cell;
      rows_[at->second].cells.push_back(&cell);
    }
    for (auto& row : rows_) {
      for (const auto& other : rows_) {
        const bool same = other.first->network == row.first->network &&
                          other.first->dataset == row.first->dataset &&
                          other.first->setting == row.first->setting;
        if (same && other.first->method == "dense") row.dense = &other;
      }
    }
  }

  static void count(Row& row) {
    std::set<int64_t> hosts;
    for (const auto* cell : row.cells) {
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
      row.notes[kResumed] |= cell->purpose == "accuracy" && run->tainted;
      row.notes[kDiverged] |= !run->finished();
    }
    row.notes[kMixed] = hosts.size() > 1;
  }

  const std::vector<Evaluation>& evaluations(const Run& run, const std::string& split) const {
    static const std::vector<Evaluation> none;
    const auto it = contents_.evaluations.find({run.run_id, split});
    return it == contents_.evaluations.end() ? none : it->second;
  }

  // The evaluations that choices are made by: those of the held-out part where there is one.
  const std::vector<Evaluation>& judged(const Cell& cell, const Run& run) const {
    const auto& holdout = evaluations(run, "holdout");
    return cell.split == "holdout" && !holdout.empty() ? holdout : evaluations(run, "test");
  }

  // The last test accuracy of the cell, percent. None unless it finished.
  std::optional<double> final_accuracy(const Cell& cell) const {
    const Run* run = cell.run();
    if (cell.purpose != "accuracy" || run == nullptr || !run->finished()) return std::nullopt;
    const auto& tests = evaluations(*run, "test");
    return tests.empty() ? std::nullopt : std::optional(100 * tests.back().accuracy);
  }

  // The test accuracy at the best evaluation of what judges, percent.
  std::optional<double> best_accuracy(const Cell& cell) const {
    if (!final_accuracy(cell)) return std::nullopt;
    const Run& run = *cell.run();
    const auto& by = judged(cell, run);
    const auto best = std::max_element(
        by.begin(), by.end(),
        [](const Evaluation& a, const Evaluation& b) { return a.accuracy < b.accuracy; });
    for (const auto& test : evaluations(run, "test")) {
      if (test.step == best->step) return 100 * test.accuracy;
    }
    return std::nullopt;
  }

  void judge_accuracy(Row& row) const {
    std::vector<double> finals, bests;
    for (const auto* cell : row.cells) {
      if (const auto value = final_accuracy(*cell)) finals.push_back(*value);
      if (const auto value = best_accuracy(*cell)) bests.push_back(*value);
    }
    row.accuracy = summarize(finals);
    row.best = summarize(bests);
    row.notes[kFew] = row.accuracy.n > 0 && row.accuracy.n < kFewSeeds;
  }

  // The dense accuracy cell of the same seed, run on the same machine and data.
  static const Cell* partner(const Row& row, const Cell& cell) {
    if (row.dense == nullptr || row.dense == &row || cell.run() == nullptr) return nullptr;
    for (const auto* other : row.dense->cells) {
      const Run* run = other->run();
      if (other->purpose == "accuracy" && other->seed == cell.seed && run != nullptr &&
          run->host_id == cell.run()->host_id && run->dataset_id == cell.run()->dataset_id) {
        return other;
      }
    }
    return nullptr;
  }

  void judge_loss(Row& row) const {
    std::vector<double> losses, logs;
    for (const auto* cell : row.cells) {
      const auto accuracy = final_accuracy(*cell);
      if (!accuracy) continue;
      const Cell* dense = partner(row, *cell);
      const auto dense_accuracy = dense ? final_accuracy(*dense) : std::nullopt;
      if (!dense_accuracy) continue;
      losses.push_back(*dense_accuracy - *accuracy);
      const auto ours = cell->run()->train_ns, theirs = dense->run()->train_ns;
      if (ours && theirs && *ours > 0 && *theirs > 0) {
        logs.push_back(std::log(static_cast<double>(*theirs) / static_cast<double>(*ours)));
      }
    }
    row.loss = paired_difference(losses);
    row.speedup_shared = ratio_of_groups({logs});
    row.notes[kUnpaired] = row.dense != nullptr && row.dense != &row && row.loss.n < row.accuracy.n;
  }

  void adjust_p() {
    std::vector<double> p;
    for (const auto& row : rows_) {
      if (row.loss.p) p.push_back(*row.loss.p);
    }
    const auto adjusted = holm(p);
    size_t at = 0;
    for (auto& row : rows_) {
      if (row.loss.p) row.loss_p_holm = adjusted[at++];
    }
  }

  // The block pairs of the row's timing runs that count, a group for each run.
  std::vector<std::vector<BlockPair>> block_pairs(const Row& row, bool* left_out = nullptr) const {
    std::vector<std::vector<BlockPair>> groups;
    for (const auto* cell : row.cells) {
      const Run* run = cell->run();
      if (cell->purpose != "timing" || run == nullptr || !run->finished()) continue;
      const auto pairs = contents_.blocks.find(run->run_id);
      if (pairs == contents_.blocks.end()) continue;
      if (!run->timing_valid && !options_.include_tainted) {
        if (left_out != nullptr) *left_out = true;
        continue;
      }
      groups.push_back(pairs->second);
    }
    return groups;
  }

  void judge_time(Row& row) const {
    std::vector<std::vector<double>> logs;
    for (const auto& pairs : block_pairs(row, &row.notes[kTainted])) {
      auto& group = logs.emplace_back();
      for (const auto& pair : pairs) group.push_back(std::log(pair.dense_ns / pair.approx_ns));
    }
    row.speedup = ratio_of_groups(logs);
    row.timing_runs = static_cast<int64_t>(logs.size());
  }

  void judge_target(Row& row) const {
    for (const auto* cell : row.cells) {
      if (cell->target) row.target = cell->target;
    }
    if (!row.target) return;
    std::vector<double> times;
    for (const auto* cell : row.cells) {
      const Run* run = cell->run();
      if (cell->purpose != "accuracy" || run == nullptr || !run->result()) continue;
      ++row.target_runs;
      const double budget = static_cast<double>(run->train_ns.value_or(0)) / kNsPerSecond;
      row.target_budget = std::max(row.target_budget, budget);
      for (const auto& evaluation : judged(*cell, *run)) {
        if (evaluation.accuracy < *row.target) continue;
        times.push_back(static_cast<double>(evaluation.train_ns) / kNsPerSecond);
        break;
      }
    }
    row.time_to_target = summarize(times);
  }

  void judge_throughput(Row& row) const {
    const auto batch = static_cast<double>(row.first->batch_size);
    std::vector<double> speeds;
    for (const auto& pairs : block_pairs(row)) {
      for (const auto& pair : pairs) speeds.push_back(batch * kNsPerSecond / pair.approx_ns);
    }
    if (speeds.empty() && row.dense == &row) {
      // Every timing run of a method has dense blocks as well.
      for (const auto& other : rows_) {
        if (other.dense != &row) continue;
        for (const auto& pairs : block_pairs(other)) {
          for (const auto& pair : pairs) speeds.push_back(batch * kNsPerSecond / pair.dense_ns);
        }
      }
    }
    if (speeds.empty()) {
      for (const auto* cell : row.cells) {
        const Run* run = cell->run();
        const bool counts = cell->purpose == "accuracy" && run != nullptr && run->finished();
        if (counts && run->step_ns_median && *run->step_ns_median > 0) {
          speeds.push_back(batch * kNsPerSecond / *run->step_ns_median);
        }
      }
      row.notes[kShared] = !speeds.empty();
    }
    if (!speeds.empty()) row.images_per_s = quantile(speeds, 0.5);
  }

  // The settings in which rows differ, by name.
  std::set<std::string> differing() const {
    std::map<std::string, std::set<std::string>> values;
    std::map<std::string, size_t> seen;
    for (const auto& row : rows_) {
      for (const auto& [key, value] : row.first->settings) {
        values[key].insert(value);
        ++seen[key];
      }
    }
    std::set<std::string> names;
    for (const auto& [key, set] : values) {
      if (set.size() > 1 || seen[key] != rows_.size()) names.insert(key);
    }
    return names;
  }

  static std::string runs_text(const Row& row) {
    std::string text = fmt::format("{}/{}", row.finished, row.cells.size());
    const auto add = [&](int64_t count, const char* what) {
      if (count > 0) text += fmt::format(", {} {}", count, what);
    };
    add(row.diverged, "diverged");
    add(row.failed, "failed");
    add(row.missing, "missing");
    return text;
  }

  static std::string target_text(const Row& row) {
    if (!row.target || row.target_runs == 0) return "–";
    const auto reached = row.time_to_target.n;
    const std::string counts = fmt::format(" ({}/{} reached)", reached, row.target_runs);
    if (reached == 0) return fmt::format("> {} s{}", fixed(row.target_budget, 1), counts);
    return fixed(row.time_to_target.mean, 1) + " s" + (reached < row.target_runs ? counts : "");
  }

  static std::string loss_text(const Row& row) {
    if (row.dense == &row || row.loss.n == 0) return "–";
    std::string text = with_interval(row.loss, 2);
    if (row.loss_p_holm) text += fmt::format(" (p={:.2g})", *row.loss_p_holm);
    return text;
  }

  const Contents& contents_;
  const ReportOptions& options_;
  std::vector<Row> rows_;
};

Table TableMaker::table() const {
  Table table;
  table.name = "table";
  table.title =
      options_.experiment.starts_with("@") ? options_.experiment.substr(1) : options_.experiment;
  table.columns = {"network",
                   "dataset",
                   "schedule",
                   "method",
                   "setting",
                   "n",
                   "accuracy_pct",
                   "accuracy_pct_half",
                   "accuracy_pct_sd",
                   "best_accuracy_pct",
                   "best_accuracy_pct_half",
                   "loss_pp",
                   "loss_pp_half",
                   "loss_pairs",
                   "loss_p",
                   "loss_p_holm",
                   "speedup",
                   "speedup_lo",
                   "speedup_hi",
                   "speedup_block_pairs",
                   "speedup_runs",
                   "speedup_not_isolated",
                   "speedup_not_isolated_lo",
                   "speedup_not_isolated_hi",
                   "target",
                   "time_to_target_s",
                   "target_reached",
                   "target_runs",
                   "target_budget_s",
                   "images_per_s",
                   "images_per_s_isolated",
                   "planned",
                   "finished",
                   "diverged",
                   "failed",
                   "missing",
                   "notes"};
  const auto differ = differing();
  table.text_columns = {"network", "data set", "schedule", "method"};
  if (!differ.empty()) table.text_columns.push_back("setting");
  for (const char* name : {"n", "accuracy %", "best %", "loss vs dense, pp", "speedup",
                           "speedup (not isolated)", "time to target", "images/s", "runs"}) {
    table.text_columns.push_back(name);
  }

  std::string letters[kNotes];
  char next = 'a';
  for (int note = 0; note < kNotes; ++note) {
    const bool used =
        std::any_of(rows_.begin(), rows_.end(), [&](const Row& row) { return row.notes[note]; });
    if (!used) continue;
    letters[note] = next++;
    table.notes.push_back(letters[note] + ": " + kNoteTexts[note]);
  }
  std::set<double> targets;
  for (const auto& row : rows_) {
    if (row.target) targets.insert(*row.target);
  }
  for (const double target : targets) {
    table.notes.push_back(fmt::format("target: {} % accuracy", shortest(100 * target)));
  }
  if (!rows_.empty()) {
    table.notes.push_back(
        "±, [ ]: 95 % intervals; p: exact sign-flip test, Holm-adjusted over the table");
  }
  table.notes.insert(table.notes.end(), contents_.excluded.begin(), contents_.excluded.end());

  for (const auto& row : rows_) {
    const Cell& cell = *row.first;
    std::string setting, marks, names;
    for (const auto& [key, value] : cell.settings) {
      if (differ.contains(key)) setting += (setting.empty() ? "" : " ") + key + "=" + value;
    }
    for (int note = 0; note < kNotes; ++note) {
      if (!row.notes[note]) continue;
      marks += (marks.empty() ? "" : ",") + letters[note];
      names += std::string(names.empty() ? "" : "; ") + kNoteNames[note];
    }
    const auto mean = [](const Summary& summary) {
      return summary.n > 0 ? Field(summary.mean) : Field();
    };
    const bool timed = row.speedup.n > 0, shared = row.speedup_shared.n > 0;
    table.rows.push_back({cell.network_label,
                          cell.dataset,
                          cell.schedule_label,
                          cell.method_label,
                          setting,
                          row.accuracy.n,
                          mean(row.accuracy),
                          field(row.accuracy.half),
                          field(row.accuracy.sd),
                          mean(row.best),
                          field(row.best.half),
                          mean(row.loss),
                          field(row.loss.half),
                          row.loss.n,
                          field(row.loss.p),
                          field(row.loss_p_holm),
                          timed ? Field(row.speedup.ratio) : Field(),
                          field(row.speedup.lo),
                          field(row.speedup.hi),
                          row.speedup.n,
                          row.timing_runs,
                          shared ? Field(row.speedup_shared.ratio) : Field(),
                          field(row.speedup_shared.lo),
                          field(row.speedup_shared.hi),
                          field(row.target),
                          mean(row.time_to_target),
                          row.target ? Field(row.time_to_target.n) : Field(),
                          row.target ? Field(row.target_runs) : Field(),
                          row.target && row.target_runs > 0 ? Field(row.target_budget) : Field(),
                          field(row.images_per_s),
                          row.images_per_s ? Field(int64_t{!row.notes[kShared]}) : Field(),
                          static_cast<int64_t>(row.cells.size()),
                          row.finished,
                          row.diverged,
                          row.failed,
                          row.missing,
                          names});
    std::vector<std::string> texts = {
        cell.network_label, cell.dataset, cell.schedule_label,
        cell.method_label + (marks.empty() ? "" : " [" + marks + "]")};
    if (!differ.empty()) texts.push_back(setting);
    texts.push_back(std::to_string(row.accuracy.n));
    texts.push_back(with_interval(row.accuracy, 2));
    texts.push_back(with_interval(row.best, 2));
    texts.push_back(loss_text(row));
    texts.push_back(ratio_text(row.speedup));
    texts.push_back(ratio_text(row.speedup_shared));
    texts.push_back(target_text(row));
    texts.push_back(row.images_per_s ? fixed(*row.images_per_s, 1) : "–");
    texts.push_back(runs_text(row));
    table.text_rows.push_back(std::move(texts));
  }
  return table;
}

// --- kernels ---

double special_value(const std::string& name) {
  if (name == "nan") return std::numeric_limits<double>::quiet_NaN();
  const double infinity = std::numeric_limits<double>::infinity();
  return name == "-inf" ? -infinity : infinity;
}

std::string shape_text(const std::string& label, const std::string& text) {
  if (!label.empty()) return label;
  const Json shape = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (!shape.is_object()) return text;
  std::string out;
  for (const auto& [key, value] : shape.items()) {
    if (key != "label") out += (out.empty() ? "" : " ") + key + "=" + value.dump();
  }
  return out;
}

std::string number_text(const Field& value, const char* format) {
  if (const auto* real = std::get_if<double>(&value))
    return fmt::format(fmt::runtime(format), *real);
  return "–";
}

}  // namespace

Table report_table(const std::string& db, const ReportOptions& options) {
  const Contents contents = read_contents(db, options);
  return TableMaker(contents, options).table();
}

Table report_kernels(const std::string& path) {
  Table table;
  table.name = "kernels";
  table.columns = {"op",
                   "shape",
                   "method",
                   "variant",
                   "device",
                   "precision",
                   "threads",
                   "n",
                   "ns_median",
                   "baseline_ns_median",
                   "gflops",
                   "speedup",
                   "speedup_lo",
                   "speedup_hi",
                   "plan_ns",
                   "max_abs_error",
                   "max_rel_error",
                   "verdict",
                   "reason",
                   "host"};
  table.text_columns = {"product", "shape",   "method",  "variant",        "on",
                        "µs",      "GFLOP/s", "speedup", "max rel. error", "verdict"};
  auto db = open_snapshot(path);
  for_each_row(
      db,
      "SELECT op, shape, method, variant, device, precision, threads, n, ns_median, "
      "baseline_ns_median, gflops, ratio, ratio_lo, ratio_hi, plan_ns, max_abs_error, "
      "max_rel_error, verdict, reason, hostname, special, label FROM v_kernel k JOIN host "
      "USING(host_id) "
      "WHERE kernel_run_id = (SELECT max(kernel_run_id) FROM v_kernel x WHERE x.op = k.op AND "
      "x.method = k.method AND x.variant = k.variant AND x.shape = k.shape AND "
      "x.precision = k.precision AND x.threads = k.threads AND x.device = k.device AND "
      "x.host_id = k.host_id) "
      "ORDER BY hostname, device, precision, threads, op, shape, method <> 'dense', method, "
      "variant",
      [&](SQLite::Statement& row) {
        const Json special = Json::parse(text_at(row, 20), nullptr, false);
        const auto real = [&](int at, const char* key) {
          if (const auto value = optional_real(row.getColumn(at))) return Field(*value);
          if (!special.is_object() || !special.contains(key) || !special[key].is_string()) {
            return Field();
          }
          return Field(special_value(special[key].get<std::string>()));
        };
        const std::vector<Field> numbers = {
            real(8, "ns_median"), real(9, "baseline_ns_median"), real(10, "gflops"),
            real(11, "ratio"),    real(12, "ratio_lo"),          real(13, "ratio_hi"),
            real(14, "plan_ns"),  real(15, "max_abs_error"),     real(16, "max_rel_error")};
        const std::string shape = shape_text(text_at(row, 21), text_at(row, 1));
        const int64_t threads = row.getColumn(6).getInt64();
        std::vector<Field> fields = {
            text_at(row, 0), shape,           text_at(row, 2), text_at(row, 3),
            text_at(row, 4), text_at(row, 5), threads,         row.getColumn(7).getInt64()};
        fields.insert(fields.end(), numbers.begin(), numbers.end());
        for (const int at : {17, 18, 19}) fields.emplace_back(text_at(row, at));
        table.rows.push_back(std::move(fields));

        Field us;
        if (const auto* ns = std::get_if<double>(&numbers[0])) us = *ns / 1e3;
        std::string speedup = number_text(numbers[3], "{:.2f}×");
        if (numbers[4].index() != 0 && numbers[5].index() != 0) {
          speedup += fmt::format(" [{}, {}]", number_text(numbers[4], "{:.2f}"),
                                 number_text(numbers[5], "{:.2f}"));
        }
        std::string verdict = text_at(row, 17);
        if (!text_at(row, 18).empty()) verdict += ": " + text_at(row, 18);
        table.text_rows.push_back(
            {text_at(row, 0), shape, text_at(row, 2), text_at(row, 3),
             fmt::format("{}, {}, {} {}, {}", text_at(row, 4), text_at(row, 5), threads,
                         threads == 1 ? "thread" : "threads", text_at(row, 19)),
             number_text(us, "{:.1f}"), number_text(numbers[2], "{:.1f}"), speedup,
             number_text(numbers[8], "{:.1e}"), verdict});
      });
  return table;
}

Table report_runs(const std::string& path, const ReportOptions& options) {
  Table table;
  table.name = "runs";
  table.columns = {
      "run",        "state",          "purpose",    "network",        "dataset",      "schedule",
      "method",     "seed",           "attempt",    "accuracy_pct",   "train_s",      "wall_s",
      "step_ms_q1", "step_ms_median", "step_ms_q3", "peak_rss_bytes", "timing_valid", "taint",
      "host",       "git_sha",        "dirty",      "started_utc",    "run_key",      "error"};
  table.text_columns = {"run",      "state",   "purpose", "network", "data set",
                        "schedule", "method",  "seed",    "attempt", "accuracy %",
                        "train s",  "step ms", "host",    "error"};
  auto db = open_snapshot(path);
  const std::string experiment = experiment_name(db, options.experiment);
  for_each_row(
      db,
      "SELECT r.run_id, r.state, c.purpose, m.network_label, c.dataset, m.schedule_label, "
      "m.method_label, c.seed, r.attempt, (SELECT 100 * value FROM metric x WHERE x.run_id = "
      "r.run_id "
      "AND name = 'accuracy' AND split = 'test' ORDER BY step DESC LIMIT 1), r.train_ns / 1e9, "
      "r.wall_ns / 1e9, r.step_ns_q1 / 1e6, r.step_ns_median / 1e6, r.step_ns_q3 / 1e6, "
      "r.peak_rss_bytes, r.timing_valid, r.taint, h.hostname, b.git_sha, b.dirty, r.started_utc, "
      "c.run_key, r.error FROM run r JOIN cell c USING(cell_id) JOIN host h USING(host_id) "
      "JOIN build b USING(build_id) JOIN experiment_cell m ON m.experiment_cell_id = "
      "(SELECT max(y.experiment_cell_id) FROM experiment_cell y JOIN experiment e "
      "USING(experiment_id) WHERE y.cell_id = c.cell_id AND (?1 = '' OR e.name = ?1)) "
      "ORDER BY r.run_id",
      [&](SQLite::Statement& row) {
        std::vector<Field> fields;
        for (int i = 0; i < row.getColumnCount(); ++i) {
          const auto column = row.getColumn(i);
          fields.push_back(column.isNull()      ? Field()
                           : column.isInteger() ? Field(column.getInt64())
                           : column.isFloat()   ? Field(column.getDouble())
                                                : Field(column.getString()));
        }
        std::string error = text_at(row, 23);
        if (error.size() > 80) error = error.substr(0, 77) + "...";
        table.text_rows.push_back(
            {text_at(row, 0), text_at(row, 1), text_at(row, 2), text_at(row, 3), text_at(row, 4),
             text_at(row, 5), text_at(row, 6), text_at(row, 7), text_at(row, 8),
             number_text(fields[9], "{:.2f}"), number_text(fields[10], "{:.1f}"),
             number_text(fields[13], "{:.2f}"), text_at(row, 18), error});
        table.rows.push_back(std::move(fields));
      },
      experiment);
  return table;
}

Json run_details(const std::string& path, int64_t run_id) {
  auto db = open_snapshot(path);
  // A row as an object; JSON columns are parsed, raw samples left out.
  const auto object = [](SQLite::Statement& row) {
    Json json = Json::object();
    for (int i = 0; i < row.getColumnCount(); ++i) {
      const auto column = row.getColumn(i);
      if (column.isBlob()) continue;
      const std::string name = column.getName();
      if (column.isNull()) {
        json[name] = nullptr;
      } else if (column.isInteger()) {
        json[name] = column.getInt64();
      } else if (column.isFloat()) {
        json[name] = column.getDouble();
      } else {
        json[name] = column.getString();
      }
    }
    return json;
  };
  const auto list = [&](const std::string& sql) {
    Json rows = Json::array();
    for_each_row(
        db, sql, [&](SQLite::Statement& row) { rows.push_back(object(row)); }, run_id);
    return rows;
  };
  const auto take = [](Json& from, const char* key) {
    Json value = Json::parse(from[key].get<std::string>(), nullptr, /*allow_exceptions=*/false);
    from.erase(key);
    return value.is_discarded() ? Json(nullptr) : value;
  };
  Json runs = list(
      "SELECT r.*, c.run_key, c.purpose, c.method, c.network, c.dataset, c.seed, c.config, "
      "h.hostname, h.cpu_model, h.gpu_model, b.git_sha, b.dirty, b.compiler, b.torch, "
      "d.sha256 AS dataset_sha256, d.lossy AS dataset_lossy FROM run r JOIN cell c USING(cell_id) "
      "JOIN host h USING(host_id) JOIN build b USING(build_id) LEFT JOIN dataset d "
      "USING(dataset_id) WHERE r.run_id = ?");
  if (runs.empty()) {
    throw usage_error("no run {} in {}; `report runs` lists them", run_id, path);
  }
  Json run = runs[0];
  const Json config = take(run, "config"), environment = take(run, "environment");
  run["taint"] = take(run, "taint");
  return {
      {"schema", "approxtrain.run/1"},
      {"run", run},
      {"config", config},
      {"environment", environment},
      {"metrics", list("SELECT name, split, step, epoch, train_ns, value, special FROM metric "
                       "WHERE run_id = ? ORDER BY name, split, step")},
      {"layers", list("SELECT layer, product, method, calls, exact_calls, macs_dense, macs_done, "
                      "density FROM layer_metric WHERE run_id = ? ORDER BY layer, product")},
      {"blocks", list("SELECT pair, arm, block_order, steps, ns FROM timing_block "
                      "WHERE run_id = ? ORDER BY pair, block_order")}};
}

std::string render_run(const Json& details) {
  const auto text = [](const Json& value) {
    if (value.is_string()) return value.get<std::string>();
    if (value.is_number_float()) return shortest(value.get<double>());
    return value.is_null() ? "–" : value.dump(-1, ' ', false, Json::error_handler_t::replace);
  };
  const auto pairs = [&](const Json& object, const std::string& title) {
    Table table;
    table.title = title;
    table.text_columns = {"", ""};
    if (object.is_object()) {
      for (const auto& [key, value] : object.items()) {
        if (!value.is_null() && value != "") table.text_rows.push_back({key, text(value)});
      }
    }
    return render(table, "md") + "\n";
  };
  const auto list = [&](const Json& rows, const std::string& title,
                        const std::vector<std::string>& columns) {
    if (rows.empty()) return std::string();
    Table table;
    table.title = title;
    table.text_columns = columns;
    for (const auto& row : rows) {
      auto& texts = table.text_rows.emplace_back();
      for (const auto& column : columns) {
        const bool special = column == "value" && row.at(column).is_null();
        texts.push_back(text(row.at(special ? "special" : column)));
      }
    }
    return render(table, "md") + "\n";
  };
  std::string out =
      pairs(details.at("run"), fmt::format("Run {}", text(details.at("run").at("run_id")))) +
      pairs(details.at("config"), "Configuration") +
      pairs(details.at("environment"), "Environment") +
      list(details.at("metrics"), "Metrics",
           {"name", "split", "step", "epoch", "train_ns", "value"}) +
      list(details.at("layers"), "Layers",
           {"layer", "product", "method", "calls", "exact_calls", "macs_dense", "macs_done",
            "density"}) +
      list(details.at("blocks"), "Timing blocks", {"pair", "arm", "block_order", "steps", "ns"});
  out.pop_back();  // one empty line between sections, none at the end
  return out;
}

}  // namespace approx
