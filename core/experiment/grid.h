// A grid of runs: axes, what is left out of their product, and its expansion into resolved runs.
// Knows no file: what is read from one is in axes_reader.h.
#pragma once

#include <compare>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/config/catalogue.h"
#include "core/config/run_config.h"
#include "core/experiment/selection.h"

namespace approx {

// An axis value with the label it has in tables.
struct Labelled {
  std::string label;
  std::string text;  // network or method: full text
};

struct LabelledSchedule {
  std::string label;
  std::vector<Rule> rules;
  std::vector<std::string> places;  // where each rule stands, for messages; empty: nowhere
  size_t matrix_rows = 0;           // of the matrix that the rules were written as; 0: none
};

// A timing is this many processes, if there are so many seeds and nothing else is said: no verdict
// rests on fewer (results/stats/stats.h).
inline constexpr size_t kTimingSeeds = 10;

// Every combination of the values of the axes is a cell, but of those in one group of `zipped`, by
// their keys ("method", "schedule", "network", "recipe" or a scalar's), where the first of one goes
// with the first of the others alone, and so on: they have equally many. A dense method has no
// schedule and is one cell whatever their number. A cell in which a condition does not hold is one
// that cannot run.
struct Axes {
  std::vector<Labelled> methods;
  std::vector<LabelledSchedule> schedules;
  std::vector<Labelled> networks;
  std::map<std::string, std::vector<Json>> scalars;  // further settings of RunConfig, by name
  std::vector<std::vector<std::string>> zipped;
  std::vector<Purpose> purposes = {Purpose::kAccuracy};
  std::vector<int64_t> seeds = {0};
  // Each is a process of its own; else the first kTimingSeeds of `seeds`.
  std::optional<std::vector<int64_t>> timing_seeds;
  std::vector<Recipe> recipes = {Recipe()};
  std::vector<Condition> conditions;
  bool tuned = true;  // where the experiment tunes its learning rates
};

struct Exclusion {
  Selection what;
  std::string reason;
};

// How many values an axis that may be zipped has.
size_t values_of(const Axes& axes, const std::string& key);

struct Grid {
  std::vector<Axes> blocks;  // the main grid, then one for each extra
  std::vector<Exclusion> exclusions;
  std::map<std::string, std::string> checksums;  // of every data set that a block names
};

// The labels that name a cell inside its experiment.
struct LabelKey {
  std::string method, schedule, network;

  auto operator<=>(const LabelKey&) const = default;
};

// "topk_position:k=1, Schedule 1"; a dense row has no schedule.
std::string row_text(const LabelKey& row);
// "topk_position:k=1, Schedule 1, resnet20, cifar10, seed 3".
std::string run_text(const LabelKey& row, const std::string& dataset, int64_t seed);

// One cell x seed of the grid, with the labels that tables show.
struct PlannedRun {
  RunConfig config;
  std::string key;                        // run_key
  std::vector<std::string> earlier_keys;  // earlier_run_keys
  std::vector<std::string> same_keys;     // those of the very same run, which was spelt otherwise
  std::string method_label, schedule_label, network_label;  // a dense run has no schedule: ""
  std::string excluded;  // the reason, where the file excludes it or it cannot run; else ""
  // Whether nothing says how many threads it has, so that they are those of the machine at hand.
  bool threads_of_machine = false;
  bool tuned = true;        // where the experiment tunes its learning rates, this run's too
  bool is_control = false;  // a flag added it to control another run, so that it has none itself
  // The recipe that an exact training of `exact_lengths` is shorter than: its learning rate is the
  // one that is tuned for that. None of any other run.
  std::optional<Recipe> shortened_from;
  // Its place in the whole experiment, where a part of that is at hand; else its place in the list.
  std::optional<int64_t> position;

  LabelKey labels() const { return {method_label, schedule_label, network_label}; }
};

// What a run is called along an axis of a table: "method", "network", "schedule" ("" of a dense
// run), else its data set.
const std::string& label_along(std::string_view axis, const PlannedRun& run);

// The labels of all runs along an axis, in the order of the file, none of them ""; without an axis
// one label, "".
std::vector<std::string> labels_along(std::string_view axis, const std::vector<PlannedRun>& runs);

// Sets all keys of a run that can be resolved.
void set_keys(PlannedRun& run, std::string_view dataset_sha256, const Catalogue& catalogue);

struct Expansion {
  std::vector<PlannedRun> runs;  // in the order they are to be run, excluded ones included
  std::vector<bool> used;        // for each exclusion, whether it left anything out
  // Places of the conditions that hold in no cell, so that their value is in no run.
  std::vector<std::string> never;
  // Why none of the approximate runs can be run; "" where one can, or where there are none.
  std::string unusable;
};

// Scalar settings that an axis may have: every setting of a run but network, method and seed.
const std::vector<std::string>& scalar_keys();

// How many runs an expansion has at most. A double: it cannot overflow.
double count_runs(const Grid& grid);

// Seeds change slowest, so that a sweep that is stopped early has every method at its first seed. A
// cell that cannot run, because the network has no such layer, the method cannot approximate such a
// product or a timing run does not come by its schedule (why_untimed), is in it with its reason.
// Throws Error(kUsage) that names both rules where two of a schedule contradict each other
// (Schedule::check_together) in a cell that nothing excludes.
Expansion expand(const Grid& grid, const Catalogue& catalogue);

}  // namespace approx
