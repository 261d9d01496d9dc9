// What a store holds of one experiment, or of all: the reports work on this.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/experiment/experiment.h"
#include "results/records/measurements.h"
#include "results/records/snapshot.h"
#include "results/store/run_state.h"

namespace approx {

// One of the settings that must be equal inside a row, for people.
using Settings = std::vector<std::pair<std::string, std::string>>;

// The value of one of them; "" where it is not among them.
std::string setting_of(const Settings& settings, std::string_view name);

// The settings of a run, in the order in which tables name them. A setting of a recipe that takes
// no part is at its default. A setting that was added later is left out at its default.
Settings settings_of(const RunConfig& config);

// The rules of a run in the one spelling of what means the same (respelled in core/config/rule.h):
// equal texts are equal schedules.
std::string schedule_text(const std::vector<Rule>& rules);

inline constexpr double kNsPerSecond = 1e9;
inline constexpr std::string_view kLearningRate = "learning_rate";  // as a setting

// One attempt at a cell.
struct Run {
  int64_t run_id = 0, attempt = 0, host_id = 0, dataset_id = 0;
  RunState state = RunState::kRunning;
  bool lossy = false, dirty = false, timing_valid = false, tainted = false;
  std::optional<int64_t> train_ns;
  std::optional<double> step_ns_median;
  std::optional<int64_t> batch_images;  // of a step, of runs that said so: no more than there are
  std::string host, cpu, git_sha, started_utc;
  std::string library;           // the build id of what computed; "" of runs that did not say it
  std::string data_variant;      // "official"; of photographs what became of the files
  bool earlier_rules = false;    // by an earlier version of the built-in kernel rules
  bool earlier_version = false;  // of a method, one that differs by rounding alone
  // A training on a GPU by a program whose clock left out what the device had still to do whenever
  // its loss was read.
  bool short_seconds = false;
  std::shared_ptr<const RunMeasurements> measured = std::make_shared<RunMeasurements>();

  bool result() const { return is_result(state); }
  bool finished() const { return state == RunState::kFinished; }
};

struct Cell {
  int64_t cell_id = 0;
  std::string run_key;
  bool planned = false;          // read_item_contents: it is a run that the item plans now
  RunConfig config;              // as it was stored
  std::string method, schedule;  // of it, in the one spelling of what means the same
  Settings settings;
  std::string setting;  // all that must be equal, as one text
  bool tuned = false;   // its learning rate was chosen for its row, and is not in `setting`
  // From the experiment that was asked for, else the first that has it.
  std::string method_label, schedule_label, network_label;
  std::pair<int64_t, int64_t> order;  // experiment, position in it
  std::optional<double> target;
  std::vector<Run> runs;  // by attempt

  bool is(Purpose purpose) const { return config.purpose == purpose; }

  // Whether one of the settings must be equal in what the cell is compared with: all but a learning
  // rate that was chosen for its row.
  bool must_equal(std::string_view setting) const { return !tuned || setting != kLearningRate; }

  // The attempt that counts: the last with a result, else the last. None without attempts.
  const Run* run() const {
    for (size_t i = runs.size(); i-- > 0;) {
      if (runs[i].result()) return &runs[i];
    }
    return runs.empty() ? nullptr : &runs.back();
  }

  // The evaluations that choices are made by, of the attempt that counts: those of the held-out
  // part where there is one.
  const std::vector<CurvePoint>& judged() const;

  // The last test accuracy, percent. None unless it finished, and not at a target.
  std::optional<double> final_accuracy() const;

  // The test accuracy at the best evaluation of what judges, percent.
  std::optional<double> best_accuracy() const;
};

struct Contents {
  std::vector<Cell> cells;            // in the order of their experiments' files
  std::vector<std::string> excluded;  // a line for each group of cells that are not in `cells`
};

// Reads the cells of an experiment ("@" in front allowed), or of all (""). `catalogue` as in
// ReportOptions. Of cells that differ in nothing but a version of the method, the network, the data
// or the kernel rules the newest one counts alone: what an earlier one measured is no further seed.
// What stands under a label that means something else now has "(earlier)" behind it. Equal runs
// count once however they were spelt when they were stored. Throws Error(kUsage) for an unknown
// experiment, Error(kDatabase) for numbers that nothing measures.
Contents read_contents(const Snapshot& snapshot, const std::string& experiment,
                       const Catalogue* catalogue);

// What the store has of an item: its members (StoredItems::members_of), whatever experiment asked
// for them, with the item's labels, and beside them what the store keeps under the item's name of
// an earlier text of the file or of flags. Throws as read_contents does; the name need not be in
// the store.
Contents read_item_contents(const Snapshot& snapshot, const Experiment& item,
                            const Catalogue* catalogue);

// The name without its "@", checked against those in the store; "" stays "". Throws Error(kUsage)
// that lists them.
std::string experiment_name(SQLite::Database& db, const std::string& given);

}  // namespace approx
