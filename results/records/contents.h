// The cells of one experiment, or of all, as a store has them. Reports work on these.
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
#include "results/records/targets.h"
#include "results/store/run_state.h"

namespace approx {

// The settings that must be equal inside a row, by name, for people.
using Settings = std::vector<std::pair<std::string, std::string>>;

// The value of the setting `name`; "" where it is not in `settings`.
std::string setting_of(const Settings& settings, std::string_view name);

// The settings of a run, in the order in which tables name them. A recipe's setting that takes no
// part is at its default. A setting that was added later is left out at its default.
Settings settings_of(const RunConfig& config);

// The rules of a run as text. Rules that mean the same are spelled alike (respelled in
// core/config/rule.h), so equal texts are equal schedules.
std::string schedule_text(const std::vector<Rule>& rules);

inline constexpr double kNsPerSecond = 1e9;
inline constexpr std::string_view kLearningRate = "learning_rate";  // as a setting

// One attempt at a cell.
struct Run {
  int64_t run_id = 0, attempt = 0, host_id = 0, dataset_id = 0;
  RunState state = RunState::kRunning;
  std::optional<EarlyEnd> ended_by;  // what ended a finished run before its length
  bool lossy = false, dirty = false, timing_valid = false, tainted = false;
  std::optional<int64_t> train_ns;
  std::optional<double> step_ns_median;
  // Images of a step, no more than the data set has; none for runs that did not report it.
  std::optional<int64_t> batch_images;
  std::string host, cpu, git_sha, started_utc;
  std::string library;  // build id of the library that trained; "" if the run did not report it
  std::string data_variant;    // "official"; for photographs, how the files were converted
  bool earlier_rules = false;  // made with an earlier version of the built-in kernel rules
  // Made with an earlier version of the method, which differs only by rounding.
  bool earlier_version = false;
  // A GPU training whose clock omitted pending device work at every reading of the loss.
  bool short_seconds = false;
  std::shared_ptr<const RunMeasurements> measured = std::make_shared<RunMeasurements>();

  bool result() const { return is_result(state); }
  bool finished() const { return state == RunState::kFinished; }
};

struct Cell {
  int64_t cell_id = 0;
  std::string run_key;
  bool planned = false;  // read_item_contents: the item plans this run now
  RunConfig config;      // as it was stored
  // The method of `config` with its selection (arm_text), and its schedule. Texts that mean the
  // same are spelled alike.
  std::string method, schedule;
  Settings settings;
  std::string setting;  // all that must be equal, as one text
  bool tuned = false;   // its learning rate was chosen for its row and is not in `setting`
  // From the experiment that was asked for, else from the first that has the cell.
  std::string method_label, schedule_label, network_label;
  std::pair<int64_t, int64_t> order;  // experiment, position in it
  std::optional<double> target;
  std::vector<Run> runs;  // by attempt

  bool is(Purpose purpose) const { return config.purpose == purpose; }

  // Whether a setting must be equal in a cell that this one is compared with. All must be equal,
  // except a learning rate that was chosen for its row.
  bool must_equal(std::string_view setting) const { return !tuned || setting != kLearningRate; }

  // The attempt that counts: the last with a result, else the last. Null without attempts.
  const Run* run() const {
    for (size_t i = runs.size(); i-- > 0;) {
      if (runs[i].result()) return &runs[i];
    }
    return runs.empty() ? nullptr : &runs.back();
  }

  // The evaluations of the attempt that counts by which choices are made: on the held-out part
  // where there is one, else on the test part.
  const std::vector<CurvePoint>& judged() const;

  // The last test accuracy in percent. None unless the run finished, and none if it may end early
  // (may_end_early).
  std::optional<double> final_accuracy() const;

  // The test accuracy in percent at the best of the judged() evaluations.
  std::optional<double> best_accuracy() const;
};

struct Contents {
  std::vector<Cell> cells;            // in the order of the experiments' files
  std::vector<std::string> excluded;  // a line for each group of cells that are not in `cells`
  std::vector<StoredTarget> targets;  // as read_targets() orders them
  // Arms of accuracy runs that were declared and have no cells, because their learning rates are
  // not tuned yet. Trainings that serve as controls are none.
  std::vector<LabelKey> untuned;
};

// Reads the cells of an experiment ("@" in front allowed), or of all (""). `catalogue` is as in
// ReportOptions. Cells may differ only in the version of the method, network, data or kernel rules.
// Only the newest of them counts then; results of earlier versions are not further seeds. A label
// that now means something else gets "(earlier)" appended. Equal runs count once, however their
// configurations were spelled when stored. Throws Error(kUsage) for an unknown experiment and
// Error(kDatabase) for numbers that no measurement can give.
Contents read_contents(const Snapshot& snapshot, const std::string& experiment,
                       const Catalogue* catalogue);

// Reads the members of an item (StoredItems::members_of), whichever experiment asked for them, with
// the item's labels. Adds the cells that the store keeps under the item's name from an earlier text
// of the file or from flags. Throws as read_contents does. The name need not be in the store.
Contents read_item_contents(const Snapshot& snapshot, const Experiment& item,
                            const Catalogue* catalogue);

// The name without its "@", checked against the names in the store; "" stays "". Throws
// Error(kUsage), which lists those names.
std::string experiment_name(SQLite::Database& db, const std::string& given);

}  // namespace approx
