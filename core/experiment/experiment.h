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

// "accuracy>=0.915", a share above 0 and up to 1. None for anything else.
std::optional<Target> parse_target(std::string_view text);

// [tune]: the learning rate of every arm is the best of these on held-out images
// (core/experiment/tuning.h).
struct Tuning {
  std::vector<double> learning_rates;  // rising
  std::vector<int64_t> seeds;          // none of those that are evaluated
  double length = 1;                   // of a trial, as a share of the run that it tunes
};

// A grid of trainings: what a file describes unless it says otherwise.
struct Trainings {
  std::vector<PlannedRun> runs;  // in the order they are to be run, excluded ones included
};

// picture = "schedule": drawn from the file alone.
struct PictureItem {
  std::vector<Labelled> networks;
  std::vector<LabelledSchedule> schedules;
};

// not_run = "why": nothing of ours computes it yet.
struct NotRunItem {
  std::string why;
};

// What computes an experiment. A study ([study]) is what `approxtrain study` computes, a kernel
// item ([kernels]) what `approxtrain bench-kernel` measures.
using Work = std::variant<Trainings, StudyItem, KernelItem, PictureItem, NotRunItem>;

struct Experiment {
  std::string id;    // "wang2019:table5", with ":reduced" or ":smoke" behind it at that scale
  std::string item;  // the same without the scale
  Scale scale = Scale::kFull;
  std::vector<Scale> scales = {Scale::kFull};  // that the file declares
  std::string title;
  std::string source;              // path of the file, or "command line"
  std::string text;                // the file's text, stored with its results
  std::vector<std::string> files;  // paths of it and of the recipes that it names
  std::optional<Target> target;
  std::optional<Tuning> tuning;  // its runs have the recipe's rate until take_tuned_rates()
  Json report;                   // the [report] table as JSON, null when absent
  ItemReport paper;              // the same, read
  std::vector<PlacedSetting> slurm;
  Work work;

  // What computes it where that is an `Item`, else null.
  template <typename Item>
  const Item* as() const {
    return std::get_if<Item>(&work);
  }

  // Its trainings, none where something else computes it.
  const std::vector<PlannedRun>& runs() const {
    static const std::vector<PlannedRun> none;
    const auto* trainings = as<Trainings>();
    return trainings == nullptr ? none : trainings->runs;
  }
};

// Reads and expands a file. Errors are Error(kUsage) as `file:line:column: key: what is wrong`
// with the nearest valid spelling; the number of runs is checked before expansion. Data set
// checksums come from `dataset_sha256`, which is asked once per data set (so that a dry run can
// answer "" where the data are not imported yet).
Experiment load_experiment(const std::string& path_or_name, const Overrides& overrides,
                           const Catalogue& catalogue,
                           const std::function<std::string(const std::string&)>& dataset_sha256);

// The same for its labels, layout and number of runs, on a machine that need not have the data: the
// keys of its runs are those of a store where the checksums are (results/records/items.h), and of
// none without.
Experiment load_layout(const std::string& path_or_name, const Catalogue& catalogue,
                       Scale scale = Scale::kFull,
                       const std::function<std::string(const std::string&)>& dataset_sha256 = {});

// The same from text (tests, `train`); `source` stands for the file name in messages.
Experiment parse_experiment(const std::string& text, const std::string& source,
                            const Overrides& overrides, const Catalogue& catalogue,
                            const std::function<std::string(const std::string&)>& dataset_sha256);

}  // namespace approx
