#include "cli/sweep/plan.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <vector>

#include "base/disk.h"
#include "base/range.h"
#include "cli/environment.h"
#include "cli/sweep/work_left.h"
#include "cli/tables.h"
#include "cli/text.h"
#include "core/experiment/run_choice.h"
#include "results/store/run_history.h"

namespace approx {
namespace {

// What the store, where there is one, knows of the runs: a dry run writes nothing.
std::vector<CellStatus> statuses(const Experiment& experiment, const std::string& db) {
  std::vector<CellStatus> known(experiment.runs().size());
  std::error_code error;
  if (!std::filesystem::exists(db, error)) return known;
  const RunStore store(db, RunStore::Mode::kRead);
  for (size_t i = 0; i < known.size(); ++i) {
    if (experiment.runs()[i].excluded.empty()) known[i] = store.status(experiment.runs()[i].key);
  }
  return known;
}

std::string stored_state(const CellStatus& status) {
  return std::string(status.state ? name(*status.state) : "");
}

// What runs take one by one, as far as it is known.
struct TimeLeft {
  double seconds = 0;
  int64_t known = 0;

  void add(const std::optional<double>& expected) {
    seconds += expected.value_or(0);
    known += expected ? 1 : 0;
  }

  std::string text(int64_t runs) const {
    if (known == 0) return "";
    const auto time = std::chrono::seconds(static_cast<int64_t>(std::ceil(seconds)));
    const std::string of = known == runs ? "" : fmt::format(" for {} of them", known);
    return fmt::format("; about {}{} one by one, by runs in the store", format_duration(time), of);
  }
};

// What runs take of the disk of the results, as far as it is known.
struct DiskNeeded {
  int64_t kept = 0, largest_checkpoint = 0, known = 0;

  void add(const std::optional<RunSizes::Size>& expected) {
    if (!expected) return;
    ++known;
    kept += expected->kept;
    largest_checkpoint = std::max(largest_checkpoint, expected->checkpoint);
  }

  // While it runs each of the jobs has its newest checkpoint, the one before, and the next.
  int64_t checkpoints(const SweepOptions& sweep) const {
    const bool any = sweep.checkpoint_time.count() > 0 || sweep.checkpoint_epochs > 0;
    return any ? 3 * sweep.jobs * largest_checkpoint : 0;
  }

  std::string text(int64_t runs, const SweepOptions& sweep) const {
    if (known == 0) return "";
    const int64_t passing = checkpoints(sweep);
    std::string text = fmt::format("; about {} of disk", format_size(kept + passing));
    if (known != runs) text += fmt::format(" for {} of them", known);
    if (passing > 0) text += fmt::format(", {} of it for checkpoints", format_size(passing));
    return text;
  }
};

// Runs that differ in their seeds alone and are in the same state.
struct PlanLine {
  std::vector<std::string> texts;  // method, schedule, network, data set, purpose, setting, state
  std::string key;                 // of the last of them
  std::vector<int64_t> seeds;
};

class SweepPlan {
 public:
  SweepPlan(const Experiment& experiment, const std::string& db, const SweepOptions& sweep)
      : experiment_(experiment),
        known_(statuses(experiment, db)),
        times_(db),
        sizes_(db),
        sweep_(sweep),
        folder_(existing_folder(std::filesystem::absolute(db.empty() ? "." : db).parent_path())),
        free_(free_bytes(folder_)) {
    for (const auto* run : distinct_runs(experiment)) distinct_.insert(run);
    for (size_t i = 0; i < known_.size(); ++i) {
      const auto& config = experiment.runs()[i].config;
      if (!is_to_do(i)) continue;
      ++to_do_;
      if (cores_of(config) > cores_of(widest_)) widest_ = config;
      left_.add(times_.expected(config));
      disk_.add(sizes_.expected(config));
    }
  }

  void print_json() const {
    const auto names = run_names(experiment_.runs());
    Json runs = Json::array();
    for (size_t i = 0; i < known_.size(); ++i) {
      const auto& run = experiment_.runs()[i];
      const bool excluded = !run.excluded.empty();
      const auto seconds = excluded ? std::nullopt : times_.expected(run.config);
      const auto size = excluded ? std::nullopt : sizes_.expected(run.config);
      runs.push_back({{"run_key", excluded ? Json(nullptr) : Json(run.key)},
                      {"method", run.method_label},
                      {"schedule", run.schedule_label},
                      {"network", run.network_label},
                      {"name", names[i]},
                      {"state", stored_state(known_[i])},
                      {"tainted", known_[i].tainted},
                      {"older", is_older(known_[i], commit_)},
                      {"to_do", is_to_do(i)},
                      {"excluded", run.excluded},
                      {"cores", cores_of(run.config)},
                      {"expected_s", seconds ? Json(*seconds) : Json(nullptr)},
                      {"expected_bytes", size ? Json(size->kept) : Json(nullptr)},
                      {"config", run.config}});
    }
    const Json plan = {{"schema", "approxtrain.plan/1"},
                       {"experiment", experiment_.id},
                       {"title", experiment_.title},
                       {"checkpoint_bytes", disk_.checkpoints(sweep_)},
                       {"free_bytes", free_ ? Json(*free_) : Json(nullptr)},
                       {"runs", runs}};
    std::fputs((json_text(plan, 2) + "\n").c_str(), stdout);
  }

  // A line for all seeds of a row that stand alike.
  void print_table() const {
    const auto apart = settings_apart(experiment_.runs());
    const bool has_settings =
        std::any_of(apart.begin(), apart.end(), [](const auto& text) { return !text.empty(); });
    std::map<std::vector<std::string>, size_t> places;  // of lines, by their texts
    std::vector<PlanLine> lines;
    int64_t excluded = 0;
    for (size_t i = 0; i < known_.size(); ++i) {
      const auto& run = experiment_.runs()[i];
      excluded += !run.excluded.empty();
      const std::vector<std::string> texts = {run.method_label,
                                              run.schedule_label,
                                              run.network_label,
                                              run.config.dataset,
                                              std::string(name(run.config.purpose)),
                                              apart[i],
                                              state_text(i)};
      const auto [at, is_new] = places.try_emplace(texts, lines.size());
      if (is_new) lines.push_back({.texts = texts});
      auto& line = lines[at->second];
      line.key = run.excluded.empty() ? run.key.substr(0, 12) : "-";
      line.seeds.push_back(run.config.seed);
    }
    std::vector<std::vector<std::string>> rows;
    for (const auto& line : lines) {
      const size_t runs = line.seeds.size();
      auto row = line.texts;
      row.insert(row.begin(), runs == 1 ? line.key : fmt::format("{} runs", runs));
      row.insert(row.begin() + 6, range_text(line.seeds));
      if (!has_settings) row.erase(row.begin() + 7);
      rows.push_back(std::move(row));
    }
    std::vector<std::string> header = {"run",      "method",  "schedule", "network",
                                       "data set", "purpose", "seed"};
    if (has_settings) header.emplace_back("setting");
    header.emplace_back("state");
    const ForScreen screen = {.keys = {"schedule", "network", "data set", "purpose", "setting"},
                              .results = {"run", "method", "seed", "state"}};
    std::fputs(rows_text(header, rows, {}, screen).c_str(), stdout);
    std::string text = fmt::format("\n{}: {} runs, {} to do, {} excluded{}{}{}\n", experiment_.id,
                                   known_.size() - static_cast<size_t>(excluded), to_do_, excluded,
                                   left_.text(to_do_), cores_text(), disk_.text(to_do_, sweep_));
    if (to_do_ > 0 && left_.known == 0) {
      text +=
          "time: not known, since the database has no run like these yet; start the sweep, and its "
          "progress shows the time left\n";
    }
    std::fputs(fitted_text(text + early_ends_text()).c_str(), stdout);
  }

  // On stderr, where the disk has not that much left.
  void warn() const {
    const int64_t needed = disk_.kept + disk_.checkpoints(sweep_);
    if (!free_ || needed <= *free_) return;
    std::fputs(fmt::format("{}: the disk of {} has {} left: free some, or choose another --db\n",
                           experiment_.id, printable(folder_), format_size(*free_))
                   .c_str(),
               stderr);
  }

 private:
  static int64_t cores_of(const RunConfig& config) { return config.ranks * config.threads; }

  // The cores of all runs at work at a time, if the widest run to be done has several ranks.
  std::string cores_text() const {
    if (widest_.ranks == 1) return "";
    const int64_t jobs = widest_.purpose == Purpose::kTiming ? 1 : sweep_.jobs;
    return fmt::format("; up to {} cores at a time, {} ranks x {} threads a run",
                       jobs * cores_of(widest_), widest_.ranks, widest_.threads);
  }

  // What may end trainings before their length, a line each.
  std::string early_ends_text() const {
    std::map<std::string, int64_t> runs;
    for (const auto& run : experiment_.runs()) {
      if (!run.excluded.empty() || !may_end_early(run.config)) continue;
      if (run.config.stop_at > 0) {
        ++runs[fmt::format("at an accuracy of {:.6g} %", 100 * run.config.stop_at)];
      }
      if (takes_part(run.config, "patience")) {
        ++runs[fmt::format("after {} {} without a better accuracy (patience)", run.config.patience,
                           run.config.patience == 1 ? "epoch" : "epochs")];
      }
    }
    std::string text;
    for (const auto& [end, count] : runs) {
      text +=
          fmt::format("early end: {} {} {}\n", count, count == 1 ? "run ends" : "runs end", end);
    }
    return text;
  }

  bool is_to_do(size_t i) const {
    return distinct_.contains(&experiment_.runs()[i]) &&
           needs_run(known_[i], sweep_.rerun, commit_);
  }

  std::string state_text(size_t i) const {
    const auto& reason = experiment_.runs()[i].excluded;
    if (!reason.empty()) return "excluded: " + reason;
    if (!distinct_.contains(&experiment_.runs()[i])) return "a run above is the same";
    std::string state = known_[i].state ? stored_state(known_[i]) : "to do";
    if (known_[i].tainted) state += ", tainted";
    if (is_older(known_[i], commit_)) state += ", older code";
    if (known_[i].state && is_to_do(i)) state += ", to do again";
    return state;
  }

  const Experiment& experiment_;
  const std::vector<CellStatus> known_;
  std::set<const PlannedRun*> distinct_;
  const RunTimes times_;
  const RunSizes sizes_;
  const SweepOptions& sweep_;
  const std::string commit_ = program_commit();
  const std::string folder_;  // of the results
  const std::optional<int64_t> free_;
  int64_t to_do_ = 0;
  RunConfig widest_;  // of those to be done, the one with most cores
  TimeLeft left_;
  DiskNeeded disk_;
};

}  // namespace

void print_plan(const Experiment& experiment, const std::string& db, const SweepOptions& sweep,
                bool as_json) {
  const SweepPlan plan(experiment, db, sweep);
  as_json ? plan.print_json() : plan.print_table();
  plan.warn();
}

void print_item_plan(const Experiment& experiment, const std::string& what, bool as_json) {
  const Json plan = {{"schema", "approxtrain.plan/1"},
                     {"experiment", experiment.id},
                     {"title", experiment.title},
                     {"what", what},
                     {"runs", Json::array()}};
  const std::string text =
      as_json ? json_text(plan, 2) + "\n" : fmt::format("{}: {}\n", experiment.id, what);
  std::fputs(text.c_str(), stdout);
}

}  // namespace approx
