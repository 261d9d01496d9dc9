// Exact training in the time that a method takes. A faster method has to beat it, since anybody can
// train exactly and stop earlier.
#pragma once

#include <cstdint>
#include <optional>

#include "base/enum_text.h"
#include "results/rows/rows.h"
#include "results/stats/stats.h"

namespace approx {

// Where the exact training of that time was found.
enum class SameTimeSource {
  kNone,    // nowhere yet
  kCurves,  // in the dense runs, at the evaluation when the method's time is up
  kRuns     // in runs of their own (sweep --controls iso-time)
};

constexpr auto enum_texts(SameTimeSource) {
  return std::to_array<EnumText<SameTimeSource>>(
      {{SameTimeSource::kNone, ""},
       {SameTimeSource::kCurves, "the dense runs' curves"},
       {SameTimeSource::kRuns, "runs of their own"}});
}

struct SameTime {
  SameTimeSource source = SameTimeSource::kNone;
  const Row* row = nullptr;  // of runs of their own
  // Length of the exact training that fits into the longest time that the method may take.
  double epochs = 0;
  double trained = 0;  // length of the exact training that was found; 0 without any
  // Whether `trained` is at least `epochs`. If not, the exact training may beat the method, but
  // cannot lose to it.
  bool enough = false;
  PairedDifference advantage;  // exact training minus the method, in points, paired by seed
  // The longest exact training that surely takes no more time than the method: its length, and its
  // advantage as above. A longer one might win by its extra time only.
  double sooner_trained = 0;
  PairedDifference sooner;
  // Whether some pairs are of two machines, or of two builds of the program.
  bool other_machines = false, other_builds = false;
  // How many of the exact trainings were tried, and how many reach the row's target in that time.
  int64_t reached = 0, tried = 0;

  // Notes whether a pair is of two machines or two builds.
  void mark(const Run& method, const Run& exact);

  // For tables: none where there is no exact training.
  std::optional<double> epochs_or_none() const {
    return source == SameTimeSource::kNone ? std::nullopt : std::optional(epochs);
  }
  std::optional<double> trained_or_none() const {
    return trained > 0 ? std::optional(trained) : std::nullopt;
  }
};

// Compares a row with exact training of the same time. Nothing is found where timing runs do not
// show that the row may be faster than its dense row. The lower end of the speedup's interval gives
// the longest time that the method may take. Between two evaluations of a curve the later one
// counts, which favours exact training.
// If exact trainings of their own exist (kRuns), the shortest that is long enough counts, at most a
// fiftieth of the training longer. Without any, the longest of the shorter ones counts, at most a
// fiftieth shorter. The upper end of the interval gives the time that the method surely takes; in a
// curve the evaluation before it counts. `target`: an accuracy to reach, a share, or none.
SameTime same_time(const RowSet& set, const Row& row, std::optional<double> target);

// Whether two cells differ only in method, in recipe, and in whether steps are graphs, which does
// not change a training.
bool same_but_recipe(const Cell& a, const Cell& b);

// The shortest and the longest accuracy run of a row, in epochs by their steps; 0 where no run
// reports it.
struct TrainedEpochs {
  double least = 0, most = 0;
};
TrainedEpochs trained_epochs(const Row& row);

}  // namespace approx
