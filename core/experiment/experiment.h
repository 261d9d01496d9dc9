// An experiment file: a grid of runs described in TOML, and its expansion into resolved runs.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "core/experiment/grid.h"
#include "core/experiment/item.h"
#include "core/experiment/overrides.h"
#include "core/experiment/slurm_table.h"

namespace approx {

struct Target {
  std::string metric = "accuracy";
  double value = 0;  // share, 0.915
};

// Reads "accuracy>=0.915", a share above 0 and up to 1. Nothing for any other text.
std::optional<Target> parse_target(std::string_view text);

// [tune]: the learning rate of every arm is the best of these, judged on held-out images
// (core/experiment/tuning.h).
struct Tuning {
  std::vector<double> learning_rates;  // rising
  std::vector<int64_t> seeds;          // no seed that is evaluated
  double length = 1;                   // of a trial, as a share of the run that is tuned
};

// A grid of trainings: what an experiment is unless its file says otherwise.
struct Trainings {
  std::vector<PlannedRun> runs;  // in the order of running, with the excluded ones
};

// picture = "schedule": drawn from the file alone.
struct PictureItem {
  std::vector<Labelled> networks;
  std::vector<LabelledSchedule> schedules;
};

// not_run = "why": the program cannot compute it yet.
struct NotRunItem {
  std::string why;
};

// The work of an experiment. `approxtrain study` computes a study ([study]), `approxtrain
// bench-kernel` measures a kernel item ([kernels]).
using Work = std::variant<Trainings, StudyItem, KernelItem, PictureItem, NotRunItem>;

struct Experiment {
  std::string id;    // "wang2019:table5"; at a smaller scale with ":reduced" or ":smoke"
  std::string item;  // the id without the scale
  Scale scale = Scale::kFull;
  std::vector<Scale> scales = {Scale::kFull};  // the scales that the file declares
  std::string title;
  std::string source;              // path of the file, or "command line"
  std::string text;                // the file's text, stored with its results
  std::vector<std::string> files;  // paths of the file and of the recipes that it names
  std::optional<Target> target;
  std::optional<Tuning> tuning;  // runs have the recipe's rate until take_tuned_rates()
  Json report;                   // the [report] table as JSON; null: there is none
  ItemReport paper;              // the [report] table, read
  std::vector<PlacedSetting> slurm;
  Work work;

  // The work if it is an `Item`, else null.
  template <typename Item>
  const Item* as() const {
    return std::get_if<Item>(&work);
  }

  // The trainings; none if the work is of another kind.
  const std::vector<PlannedRun>& runs() const {
    static const std::vector<PlannedRun> none;
    const auto* trainings = as<Trainings>();
    return trainings == nullptr ? none : trainings->runs;
  }
};

// Reads and expands a file. Throws Error(kUsage) as `file:line:column: key: what is wrong`, with
// the nearest valid spelling. Checks the number of runs before the expansion. `dataset_sha256`
// gives the checksums of data sets and is called once per data set. A dry run can return "" for
// data that are not imported yet.
Experiment load_experiment(const std::string& path_or_name, const Overrides& overrides,
                           const Catalogue& catalogue,
                           const std::function<std::string(const std::string&)>& dataset_sha256);

// Like load_experiment(), but for labels, layout and number of runs, on a machine that need not
// have the data. With `dataset_sha256` the runs have the keys of a store (results/records/items.h),
// and without it no valid keys.
Experiment load_layout(const std::string& path_or_name, const Catalogue& catalogue,
                       Scale scale = Scale::kFull,
                       const std::function<std::string(const std::string&)>& dataset_sha256 = {});

// Like load_experiment(), from text (tests, `train`). `source` replaces the file name in messages.
Experiment parse_experiment(const std::string& text, const std::string& source,
                            const Overrides& overrides, const Catalogue& catalogue,
                            const std::function<std::string(const std::string&)>& dataset_sha256);

// The source of an experiment without a file.
inline constexpr const char* kCommandLine = "command line";

// The experiment of this id that flags alone describe. Its text is file_text(). Throws as
// load_experiment(), with the flag as the place.
Experiment experiment_of_flags(
    const Overrides& overrides, const std::string& id, const Catalogue& catalogue,
    const std::function<std::string(const std::string&)>& dataset_sha256);

}  // namespace approx
