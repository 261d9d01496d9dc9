// The exact training that takes no longer than a method's: what a faster method has to beat, since
// whoever is in a hurry can train exactly and stop earlier.
#pragma once

#include <cstdint>
#include <optional>

#include "base/enum_text.h"
#include "results/rows/rows.h"
#include "results/stats/stats.h"

namespace approx {

// Where it is seen.
enum class SameTimeSource {
  kNone,    // nowhere yet
  kCurves,  // in the dense runs themselves, at the evaluation at which the method's time is up
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
  const Row* row = nullptr;    // of runs of their own
  double epochs = 0;           // of exact training that fit into the time that the method may take
  double trained = 0;          // those that the exact training has; 0 without any
  bool enough = false;         // it has no fewer: else it may beat the method and not be beaten
  PairedDifference advantage;  // the exact training minus the method, points, paired by seed
  // The same of the longest exact training that surely has no more time than the method takes: what
  // has more may beat it by that alone.
  double sooner_trained = 0;
  PairedDifference sooner;
  // Whether some pairs are of two machines, or of two builds of the program.
  bool other_machines = false, other_builds = false;
  // Of the exact trainings, those that reach the row's target in that time.
  int64_t reached = 0, tried = 0;

  void mark(const Run& method, const Run& exact);  // a pair of it

  // For tables: none where there is no exact training.
  std::optional<double> epochs_or_none() const {
    return source == SameTimeSource::kNone ? std::nullopt : std::optional(epochs);
  }
  std::optional<double> trained_or_none() const {
    return trained > 0 ? std::optional(trained) : std::nullopt;
  }
};

// Of a row that timing runs show to be faster than its dense row; nothing where it may not be. The
// method may take as long as the lower end of the interval of its speedup says. Between two
// evaluations the later one counts, which gives the exact training the more time. Of runs of their
// own the shortest count that have so long, and a fiftieth of the training more at most; without
// any those that have a fiftieth less at most. What the method surely takes is the upper end's; of
// curves the evaluation before counts there. `target`: a share to reach, or none.
SameTime same_time(const RowSet& set, const Row& row, std::optional<double> target);

// Whether two cells differ in nothing but method and recipe, and in whether steps are graphs, which
// decides nothing of a training.
bool same_but_recipe(const Cell& a, const Cell& b);

// How long the accuracy runs of a row were, in epochs by their steps; 0 where none says so.
struct TrainedEpochs {
  double least = 0, most = 0;
};
TrainedEpochs trained_epochs(const Row& row);

}  // namespace approx
