// The rows of the reports: what has equal settings, judged.
#pragma once

#include <compare>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "core/config/dense.h"
#include "results/records/contents.h"
#include "results/render/table.h"
#include "results/rows/notes.h"
#include "results/rows/options.h"
#include "results/stats/stats.h"

namespace approx {

// What the cells of a row have alike; a row has the same key in every store.
struct RowKey {
  std::string network, dataset, setting, schedule, method;

  auto operator<=>(const RowKey&) const = default;
};

RowKey row_key(const Cell& cell);

// A run that counts, with its cell.
struct CellRun {
  const Cell* cell = nullptr;
  const Run* run = nullptr;
};
using CellRuns = std::vector<CellRun>;

// The cells of one key: its seeds, and what they add up to (docs/internals/statistics.md).
struct Row {
  const Cell* first = nullptr;
  std::vector<const Cell*> cells;
  // Those that end at a target, of seeds that have no result without: they are for times to a
  // target alone (target_runs), so that nothing else can take them for runs to the end.
  std::vector<const Cell*> stopped;
  const Row* dense = nullptr;  // its baseline; itself for dense
  CellRuns timings;            // its timing runs that count

  int64_t finished = 0, diverged = 0, failed = 0, missing = 0;
  Summary accuracy, best;  // percent
  PairedDifference loss;   // percentage points, positive: worse than dense
  std::optional<double> loss_p_holm;
  Ratio speedup;            // over the best exact step, over the processes that timed it
  Ratio vs_stock;           // the same over a step of LibTorch's own operators alone
  std::string no_vs_stock;  // why there is none of that, "" where there is
  int64_t block_pairs = 0;  // of all of them
  int64_t timed_on = 0;     // machines
  Ratio backward;           // the same of the convolutions' data and weight gradients alone
  Ratio speedup_shared;
  // Percent of the multiply-accumulates of all layers and products that are left out, over the runs
  // that count them: accuracy runs, or without any the timing runs.
  Summary compute_reduction;
  std::optional<Realisation> realisation;
  // From the measured shares of an exact step that the three products take: what the speedup would
  // be if what is approximated took no time (Amdahl), and if each product took time in proportion
  // to the multiply-accumulates that are left, as papers estimate. Of timing runs that have both.
  std::optional<double> ceiling, estimate;
  std::optional<double> target;
  Summary time_to_target;  // s, over the runs that reached it
  int64_t target_runs = 0;
  double target_budget = 0;  // s, the longest training among the runs
  std::optional<double> images_per_s;
  Notes notes = {};

  int64_t planned() const { return static_cast<int64_t>(cells.size() + stopped.size()); }
};

// Why no verdict may rest on the speedup of a row, however many processes timed it; "" where one
// may.
std::string unsound_speedup(const Row& row);
// The same, of too few of them, too.
std::string speedup_obstacle(const Row& row);

// "timed in 4 processes, a verdict needs 10".
std::string timed_in_few(int64_t processes, int64_t needed);
inline constexpr int64_t kFewSeeds = 5;  // fewer are marked

inline constexpr const char* kApproximatedNothing = "it approximated nothing";

// Whether a cell trains exactly.
inline bool is_dense(const Cell& cell) { return is_dense(cell.method); }

// The accuracy cell of `dense` that a run of `cell` is compared with: of its seed and data, run on
// the same machine, or for kAny where that has none on another. Seed and data fix weights, order of
// images and draws everywhere, so that accuracies and steps may be compared, but no times. None
// where there is none, or where `cell` has no run.
enum class Machine { kSame, kAny };
const Cell* partner(const Row* dense, const Cell& cell, Machine machine);

// Whether accuracies of both may be compared: their settings are alike but for a learning rate that
// was chosen for its row, and for whether steps are graphs, which decides nothing of a training.
bool of_equal_settings(const Cell& a, const Cell& b);

// Whether both were made by the same build of the program and its library.
bool same_build(const Run& a, const Run& b);

// The runs of a row that finished, for one purpose or for any; with `diverged` also those that
// diverged.
CellRuns runs_of(const Row& row, std::optional<Purpose> purpose, bool diverged = false);
inline CellRuns accuracy_runs(const Row& row, bool diverged) {
  return runs_of(row, Purpose::kAccuracy, diverged);
}

// What a row knows of the way to an accuracy of `share`, one run a seed: its runs that finished or
// diverged; those that stopped at a target no lower (a lower one leaves out just those that were
// about to arrive); and those that were cut off, which are censored where they were.
CellRuns target_runs(const Row& row, double share);

// The ratio of step times of timing runs, over their processes: of whole steps or of some of it.
Ratio timed_ratio(const CellRuns& timings,
                  std::vector<BlockPair> RunMeasurements::*pairs = &RunMeasurements::blocks);

// On how many occasions timing runs were made: days (UTC), and builds of the library.
int64_t timing_occasions(const CellRuns& timings);

// What `of` says of what each run measured; those of which it says nothing are left out.
template <typename Of>
std::vector<double> values_of(const CellRuns& runs, const Of& of) {
  std::vector<double> values;
  for (const auto& [cell, run] : runs) {
    const std::optional<double> value = std::invoke(of, *run->measured);
    if (value) values.push_back(*value);
  }
  return values;
}

// By seed, the steps of a training to the first evaluation that reaches the row's target; without
// those that never did.
std::map<int64_t, int64_t> steps_to_target(const Row& row);

// Accuracy of `dense` minus that of `row`, points, a pair for each seed that both have on the same
// data, of one machine where there is such a pair; `best`: by their best evaluations rather than
// their last.
std::vector<double> losses(const Row& row, const Row& dense, bool best = false);

// The same with the accuracy of the pair's exact run, percent.
struct PairedLoss {
  double points = 0, dense = 0;
};
std::vector<PairedLoss> paired_losses(const Row& row, const Row& dense, bool best = false);

// By how many points each loss surpasses a margin. A margin that is a share of the error goes by
// the error of the same pair: taken for known, it would be surpassed by chance more often than a
// test says.
std::vector<double> losses_beyond(const std::vector<PairedLoss>& pairs, const Margin& margin);

// All rows of a store's contents, in the order of their first cells: what a report begins with.
class RowSet {
 public:
  // What is known of the rows: which cells they have and which row is their dense one, or what
  // these add up to as well.
  enum class Depth { kGrouped, kJudged };

  // Throws as read_contents() does.
  RowSet(const Snapshot& snapshot, const ReportOptions& options, Depth depth = Depth::kJudged);
  // `target`: the share to reach, in place of the experiments' own.
  RowSet(Contents contents, bool include_tainted, std::optional<double> target = std::nullopt,
         Depth depth = Depth::kJudged);
  RowSet(const RowSet&) = delete;

  const std::vector<Row>& rows() const { return rows_; }
  const Contents& contents() const { return contents_; }

  // What stands below a table with p-values: over how many losses they are adjusted, those of all
  // rows for which accuracy runs were declared, whether they are there or not; "" where no loss has
  // one.
  std::string holm_note() const;
  // The p of a row's loss beside it: see loss_p_text().
  std::string loss_p_text(const Row& row) const;

  // Whether rows differ in a setting that has no column of its own, and what a row has of those
  // that differ, "batch_size=128 epochs=4".
  bool settings_differ() const { return !differing_.empty(); }
  std::string setting(const Row& row) const;

  // The learning rate that was chosen for a row of a tuned experiment, which is the row's own like
  // its method and no setting; "" of any other row. Whether rows differ in it.
  static std::string tuned_rate(const Row& row);
  bool tuned_rates_differ() const;

  // Whether some row has a speedup over the stock step, and what stands below a table of speedups:
  // what they are over, and why there is no such column; "" without speedups.
  bool has_stock() const;
  std::string stock_note() const;

 private:
  void group();
  void find_dense();
  void find_timings(Row& row) const;
  void judge();
  void judge_stock(Row& row) const;
  void judge_throughput(Row& row) const;
  void adjust_p();
  void find_differing();

  const Contents contents_;
  const bool include_tainted_;
  const std::optional<double> target_;
  std::vector<Row> rows_;
  std::set<std::string> differing_;  // names of settings
  int64_t declared_losses_ = 0;
};

// --- text of numbers, the same in every report ---

// `value` with `digits` decimals, never "-0.00".
std::string fixed(double value, int digits);

// "91.20 ± 0.31", "91.20 (n=1)", "–".
std::string with_interval(const Summary& summary, int digits);

// "1.09× [1.07, 1.11]", "1.09× (n=1)", "–".
std::string ratio_text(const Ratio& ratio);

// "0.31 [0.25, 0.37]", "0.31 (n=1)", "–".
std::string realisation_text(const std::optional<Realisation>& realisation);

// "1 seed", "6 seeds".
std::string seeds_text(int64_t n);

// What stands below a table with p-values: `over` is "the 5 losses of the table", so many `tests`.
std::string holm_note(const std::string& over, int64_t tests);

// "p=0.031": the Holm-adjusted p of a loss of `pairs` in a family of `tests`; "" without one, and
// where so few pairs cannot have a p below 0.05, whatever they are.
std::string loss_p_text(std::optional<double> p_holm, int64_t pairs, int64_t tests);

// "zero, Schedule 1"; a dense row has no schedule.
std::string method_text(const Cell& cell);

// For programs (results/render/column.h): nothing where nothing was measured.
inline Field as_field(const Summary& summary) {
  return summary.n > 0 ? Field(summary.mean) : Field();
}
inline Field as_field(const Ratio& ratio) { return ratio.n > 0 ? Field(ratio.ratio) : Field(); }

}  // namespace approx
