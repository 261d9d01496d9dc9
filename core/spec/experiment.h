// An experiment file: a grid of runs described in TOML, and its expansion into resolved runs.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/spec/item.h"
#include "core/spec/run_config.h"

namespace approx {

// An axis value with the label it has in tables.
struct Labelled {
  std::string label;
  std::string text;  // method: full text
};

struct LabelledSchedule {
  std::string label;
  std::vector<Rule> rules;
};

// One cell x seed of the grid, with the labels that tables show.
struct PlannedRun {
  RunConfig config;
  std::string key;                                          // run_key
  std::string method_label, schedule_label, network_label;  // a dense run has no schedule: ""
  std::string excluded;  // the reason, where the file excludes it or it cannot run; else ""
};

struct Target {
  std::string metric = "accuracy";
  double value = 0;  // share, 0.915
};

// What the method label of a dense control begins with, which is trained only for the time that
// the row named behind it takes.
inline constexpr std::string_view kIsoTimePrefix = "dense in the time of ";

// How many epochs such a control has: those of the row over its speedup, rounded, at least one.
int64_t iso_time_epochs(int64_t epochs, double speedup);

// What computes an experiment: a grid of trainings, unless the file says otherwise.
enum class ItemKind {
  kRuns,
  kStudy,    // [study]: what `approxtrain study` computes
  kKernels,  // [kernels]: what `approxtrain bench-kernel` measures
  kPicture,  // picture = "schedule": drawn from the file alone
  kNotRun    // not_run = "why": nothing of ours computes it yet
};

struct Experiment {
  std::string id;    // "wang2019:table5", with ":reduced" or ":smoke" behind it at that scale
  std::string item;  // the same without the scale
  Scale scale = Scale::kFull;
  std::string scale_note;                      // what was made smaller, "" at full scale
  std::vector<Scale> scales = {Scale::kFull};  // that the file declares
  ItemKind kind = ItemKind::kRuns;
  std::string title;
  std::string source;  // path of the file, or "command line"
  std::string text;    // the file's text, stored with its results
  std::optional<Target> target;
  std::vector<PlannedRun> runs;  // in the order they are to be run, excluded ones included
  Json report;                   // the [report] table as JSON, null when absent
  ItemReport paper;              // the same, read
  StudyItem study;               // kStudy
  KernelItem kernels;            // kKernels
  std::string not_run;           // kNotRun: why
  // kPicture: what is drawn.
  std::vector<Labelled> networks;
  std::vector<LabelledSchedule> schedules;
};

// What the command line changes in a file: axes that replace its axes, and `--set` pairs. The value
// of an axis is a list; a piece of it that is `key=value`, with no `:` before its `=`, goes on with
// the piece before it: "topk_position:k=1,scale=equal,zero" is two methods.
struct Overrides {
  std::vector<std::pair<std::string, std::string>>
      axes;  // ("method", "zero,random"), ("seeds", ...)
  std::vector<std::pair<std::string, std::string>> set;  // ("recipe.epochs", "2")
  // Applied before the others: the keys of [scale.NAME] take the place of those of the file.
  Scale scale = Scale::kFull;
};

// Where experiment and recipe files are looked for, first match wins: the working directory, then
// the installation. `@name` or a bare name without ".toml" means experiments/name.toml there
// ("@wang2019:table5" is experiments/wang2019/table5.toml).
std::vector<std::string> experiment_paths();

// Name ("wang2019:table5") and path of every experiment file there, recipes left out, by name.
std::vector<std::pair<std::string, std::string>> known_experiments();

// Reads and expands a file. Errors are Error(kUsage) as `file:line:column: key: what is wrong`
// with the nearest valid spelling; the number of runs is checked before expansion. Data set
// checksums come from `dataset_sha256`, which is asked once per data set (so that a dry run can
// answer "" where the data are not imported yet).
Experiment load_experiment(const std::string& path_or_name, const Overrides& overrides,
                           const Catalogue& catalogue,
                           const std::function<std::string(const std::string&)>& dataset_sha256);

// The same for its labels, layout and number of runs: no data set is asked for, so the keys of its
// runs are not those of the store.
Experiment load_layout(const std::string& path_or_name, const Catalogue& catalogue,
                       Scale scale = Scale::kFull);

// The same from text (tests, `train`); `source` stands for the file name in messages.
Experiment parse_experiment(const std::string& text, const std::string& source,
                            const Overrides& overrides, const Catalogue& catalogue,
                            const std::function<std::string(const std::string&)>& dataset_sha256);

// `a,b`, `first-last`, `first-last+step`, `first-last*factor`, mixed with commas, over integers.
// At most 1,000,000 values. Throws Error(kUsage).
std::vector<int64_t> parse_range(std::string_view text);

}  // namespace approx
