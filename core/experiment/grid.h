// A grid of runs: axes, exclusions, and its expansion into resolved runs. This code knows no file;
// axes_reader.h reads grids from files.
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

// An axis value with its label in tables.
struct Labelled {
  std::string label;
  std::string text;  // network or method: full text
};

struct LabelledSchedule {
  std::string label;
  std::vector<Rule> rules;
  std::vector<std::string> places;  // each rule's place, for messages; empty: none
  size_t matrix_rows = 0;           // rows of the matrix that the rules were written as; 0: none
};

// The number of processes of a timing, if there are so many seeds and the file says nothing else.
// Verdicts need at least so many (results/stats/stats.h).
inline constexpr size_t kTimingSeeds = 10;

// The axes of a block. A cell is a combination of one value of each axis. `zipped` has groups of
// axes by their keys ("method", "schedule", "network", "recipe" or a scalar's). The axes of a group
// have equally many values. The first value of each goes with the first of the others only, and so
// on. The dense method has no schedule, and is one cell however many schedules there are. A cell in
// which a condition does not hold cannot run.
struct Axes {
  std::vector<Labelled> methods;
  std::vector<LabelledSchedule> schedules;
  std::vector<Labelled> networks;
  std::map<std::string, std::vector<Json>> scalars;  // further settings of RunConfig, by name
  std::vector<std::vector<std::string>> zipped;
  std::vector<Purpose> purposes = {Purpose::kAccuracy};
  std::vector<int64_t> seeds = {0};
  // Each is a process of its own; nothing: the first kTimingSeeds of `seeds`.
  std::optional<std::vector<int64_t>> timing_seeds;
  std::vector<Recipe> recipes = {Recipe()};
  std::vector<Condition> conditions;
  bool tuned = true;  // if the experiment tunes its learning rates
};

struct Exclusion {
  Selection what;
  std::string reason;
};

// The number of values of an axis that may be zipped.
size_t values_of(const Axes& axes, const std::string& key);

struct Grid {
  std::vector<Axes> blocks;  // the main grid, then one for each extra
  std::vector<Exclusion> exclusions;
  std::map<std::string, std::string> checksums;  // of every data set in the blocks
};

// The labels that identify a cell within its experiment.
struct LabelKey {
  std::string method, schedule, network;

  auto operator<=>(const LabelKey&) const = default;
};

// "topk_position:k=1, Schedule 1"; dense rows have no schedule.
std::string row_text(const LabelKey& row);
// "topk_position:k=1, Schedule 1, resnet20, cifar10, seed 3".
std::string run_text(const LabelKey& row, const std::string& dataset, int64_t seed);

// One cell of the grid with one seed, and its labels in tables.
struct PlannedRun {
  RunConfig config;
  std::string key;                                          // run_key
  std::vector<std::string> earlier_keys;                    // earlier_run_keys
  std::vector<std::string> same_keys;                       // keys of this run in other spellings
  std::string method_label, schedule_label, network_label;  // dense runs have no schedule: ""
  std::string excluded;  // the reason, if the file excludes it or it cannot run; else ""
  // Whether nothing sets its number of threads, so that the machine decides it.
  bool threads_of_machine = false;
  bool tuned = true;        // if the experiment tunes its learning rates, whether this run's is
                            // tuned
  bool is_control = false;  // a flag added it as a control of another run: it gets no control
                            // itself
  // For an exact training of `exact_lengths`: the recipe that it shortens, whose tuned learning
  // rate it uses. Nothing for other runs.
  std::optional<Recipe> shortened_from;
  // Its position in the whole experiment, if a part of that was chosen. Nothing: its position in
  // the list.
  std::optional<int64_t> position;

  LabelKey labels() const { return {method_label, schedule_label, network_label}; }
};

// The label of a run along an axis of a table: "method", "network" or "schedule" ("" for a dense
// run). Any other axis: its data set.
const std::string& label_along(std::string_view axis, const PlannedRun& run);

// The labels of all runs along an axis, in the order of the file, without "". Without an axis one
// label, "".
std::vector<std::string> labels_along(std::string_view axis, const std::vector<PlannedRun>& runs);

// Sets all keys of a run that can be resolved.
void set_keys(PlannedRun& run, std::string_view dataset_sha256, const Catalogue& catalogue);

struct Expansion {
  std::vector<PlannedRun> runs;  // in the order of running, with the excluded ones
  std::vector<bool> used;        // for each exclusion, whether it excludes any run
  // Places of the conditions that hold in no cell, so that no run has their value.
  std::vector<std::string> never;
  // Why none of the approximate runs can run; "" if one can, or if there are none.
  std::string unusable;
};

// Scalar settings that an axis may have: every setting of a run except network, method and seed.
const std::vector<std::string>& scalar_keys();

// An upper bound of the number of runs in an expansion. A double, as it cannot overflow.
double count_runs(const Grid& grid);

// Expands a grid into runs. Seeds change slowest, so that a sweep that is stopped early has every
// method at its first seed. Cells that cannot run are in it with their reason:
// - the network has no such layer;
// - the method cannot approximate such a product;
// - a timing run does not reach its schedule (why_untimed).
// Throws Error(kUsage) that names both rules if two rules of a schedule contradict each other
// (Schedule::check_together) in a cell that is not excluded.
Expansion expand(const Grid& grid, const Catalogue& catalogue);

}  // namespace approx
