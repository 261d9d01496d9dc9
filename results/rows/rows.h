// The rows of the reports: cells with equal settings, judged.
#pragma once

#include <compare>
#include <functional>
#include <map>
#include <memory>
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

// The settings that all cells of a row share. A row has the same key in every store.
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

// The cells of one key, one per seed, and their statistics (docs/internals/statistics.md).
struct Row {
  const Cell* first = nullptr;
  std::vector<const Cell*> cells;
  // Cells that may end early (may_end_early), for seeds without a result of a full training. Only
  // times to a target use them (target_runs), so nothing else can take them for runs to the end.
  std::vector<const Cell*> stopped;
  const Row* dense = nullptr;  // its baseline; itself for dense
  CellRuns timings;            // its timing runs that count

  int64_t finished = 0, diverged = 0, failed = 0, missing = 0;
  int64_t cut_off = 0;     // by the user's time limit
  Summary accuracy, best;  // percent
  PairedDifference loss;   // percentage points; positive: worse than dense
  std::optional<double> loss_p_holm;
  Ratio speedup;            // over the best exact step, over the processes that timed it
  Ratio vs_stock;           // as `speedup`, over a step of LibTorch's own operators only
  std::string no_vs_stock;  // why there is no vs_stock; "" where there is one
  int64_t block_pairs = 0;  // of all timings together
  int64_t timed_on = 0;     // number of machines
  // As `speedup`, but of the data and weight gradients of convolutions only.
  Ratio backward;
  Ratio speedup_shared;
  // Percent of the multiply-accumulates of all layers and products that are left out. It is over
  // the runs that count them: accuracy runs, or timing runs if no accuracy run does.
  Summary compute_reduction;
  std::optional<Realisation> realisation;
  // Two speedups computed from the measured shares of an exact step that the three products take.
  // `ceiling` is the speedup if approximated products took no time (Amdahl). `estimate` is the
  // speedup if each product took time in proportion to its remaining multiply-accumulates, as
  // papers estimate. From timing runs that have both.
  std::optional<double> ceiling, estimate;
  Summary ceiling_of_runs, estimate_of_runs;  // one value a timing run; both above are medians
  std::optional<double> target;
  // The stored target that `target` is; null where the experiment says it or it was asked for.
  const StoredTarget* stored_target = nullptr;
  Summary time_to_target;  // s, over the runs that reached it
  int64_t target_runs = 0;
  double target_budget = 0;            // s, the longest training among the runs
  std::optional<double> images_per_s;  // the median over all blocks, or over accuracy runs
  Summary images_of_runs;              // the median of each run
  Notes notes = {};

  int64_t planned() const { return static_cast<int64_t>(cells.size() + stopped.size()); }
};

// Why no verdict may rest on the speedup of a row, however many processes timed it; "" where one
// may.
std::string unsound_speedup(const Row& row);
// As unsound_speedup(), and also names missing, disturbed or too few timings.
std::string speedup_obstacle(const Row& row);

// "timed in 4 processes, a verdict needs 10".
std::string timed_in_few(int64_t processes, int64_t needed);
inline constexpr int64_t kFewSeeds = 5;  // fewer are marked

inline constexpr const char* kApproximatedNothing = "it approximated nothing";

// Whether a cell trains exactly.
inline bool is_dense(const Cell& cell) { return is_dense(cell.method); }

// For partner(): the accuracy cell of `dense` that a run of `cell` is compared with. It is of the
// same seed and data, and of the same machine; with kAny of another machine where that one has
// none. Seed and data fix weights, image order and draws on every machine, so accuracies and steps
// may be compared, but times may not. Null where there is none, or where `cell` has no run.
enum class Machine { kSame, kAny };
const Cell* partner(const Row* dense, const Cell& cell, Machine machine);

// Whether the accuracies of both may be compared. Their settings must be equal, except a learning
// rate that was chosen for its row and the setting `graphs`, which does not change a training.
bool of_equal_settings(const Cell& a, const Cell& b);

// Whether both were made by the same build of the program and its library.
bool same_build(const Run& a, const Run& b);

// The runs of a row that finished, for one purpose or for any; with `diverged` also diverged ones.
CellRuns runs_of(const Row& row, std::optional<Purpose> purpose, bool diverged = false);
inline CellRuns accuracy_runs(const Row& row, bool diverged) {
  return runs_of(row, Purpose::kAccuracy, diverged);
}

// The runs of a row that tell how long it takes to reach an accuracy of `share`, one per seed. They
// are runs that finished or diverged, and runs that stopped at a target of at least `share`. (A
// lower target would leave out exactly the runs that were about to arrive.) Runs that were cut off
// (is_cut_off) are added; they are censored where they ended.
CellRuns target_runs(const Row& row, double share);

// The ratio of step times of timing runs, over their processes: of whole steps, or of the part that
// `pairs` names.
Ratio timed_ratio(const CellRuns& timings,
                  std::vector<BlockPair> RunMeasurements::*pairs = &RunMeasurements::blocks);

// On how many occasions timing runs were made. Another day (UTC) or another build of the library is
// another occasion.
int64_t timing_occasions(const CellRuns& timings);

// The values that `of` finds in the measurements of each run. Runs without such a value are left
// out.
template <typename Of>
std::vector<double> values_of(const CellRuns& runs, const Of& of) {
  std::vector<double> values;
  for (const auto& [cell, run] : runs) {
    const std::optional<double> value = std::invoke(of, *run->measured);
    if (value) values.push_back(*value);
  }
  return values;
}

// By seed, the number of steps of a training until the first evaluation that reaches the row's
// target. Seeds that never reach it are left out.
std::map<int64_t, int64_t> steps_to_target(const Row& row);

// Accuracy of `dense` minus that of `row` in points, one pair per seed that both have on the same
// data. Pairs are of one machine where such a pair exists. `best`: by their best evaluations
// instead of their last.
std::vector<double> losses(const Row& row, const Row& dense, bool best = false);

// A loss as in losses(), with the accuracy of the pair's exact run in percent.
struct PairedLoss {
  double points = 0, dense = 0;
};
std::vector<PairedLoss> paired_losses(const Row& row, const Row& dense, bool best = false);

// By how many points each loss exceeds a margin. For a margin that is a share of the error, the
// error of the same pair counts. If one error were used for all pairs, chance would exceed the
// margin more often than a test says.
std::vector<double> losses_beyond(const std::vector<PairedLoss>& pairs, const Margin& margin);

// All rows of a store's contents, in the order of their first cells. Each report begins with them.
class RowSet {
 public:
  // How much of the rows is computed. kGrouped: the cells of each row, its dense row, how its runs
  // ended and the notes on that. kJudged: statistics too.
  enum class Depth { kGrouped, kJudged };

  // Throws as read_contents() does.
  RowSet(const Snapshot& snapshot, const ReportOptions& options, Depth depth = Depth::kJudged);
  // `target` is the accuracy to reach, a share, in place of the experiments' own.
  RowSet(Contents contents, bool include_tainted, std::optional<double> target = std::nullopt,
         Depth depth = Depth::kJudged);
  RowSet(const RowSet&) = delete;

  const std::vector<Row>& rows() const { return rows_; }
  const Contents& contents() const { return contents_; }

  // The note below a table with p-values: the number of losses over which they are adjusted. It
  // counts all rows with declared accuracy runs, whether the runs exist or not. "" where no loss
  // has a p-value.
  std::string holm_note() const;
  // The p-value of a row's loss as text: see the other loss_p_text().
  std::string loss_p_text(const Row& row) const;

  // settings_differ: whether rows differ in a setting that has no column of its own. setting: those
  // settings of a row that differ, "batch_size=128 epochs=4".
  bool settings_differ() const { return !differing_.empty(); }
  std::string setting(const Row& row) const;

  // tuned_rate: the learning rate that was chosen for a row of a tuned experiment; "" for any other
  // row. It belongs to the row like its method and is not a setting. tuned_rates_differ: whether
  // rows differ in it.
  static std::string tuned_rate(const Row& row);
  bool tuned_rates_differ() const;

  // Whether some row has a speedup over the stock step (has_stock), and the note below a table of
  // speedups (stock_note). The note says what the speedups are relative to and why that column is
  // missing; "" without speedups.
  bool has_stock() const;
  std::string stock_note() const;

 private:
  void group();
  void find_dense();
  void find_timings(Row& row) const;
  void judge();
  void judge_stock(Row& row) const;
  void judge_throughput(Row& row) const;
  int64_t untuned_arms() const;  // methods that have no row yet
  void adjust_p();
  void find_differing();

  const Contents contents_;
  const bool include_tainted_;
  const std::optional<double> target_;
  std::vector<Row> rows_;
  std::set<std::string> differing_;  // names of settings
  int64_t declared_losses_ = 0;
};

// The rows of a snapshot by these options, made once for all reports of it. Throws as RowSet does.
std::shared_ptr<const RowSet> rows_of(const Snapshot& snapshot, const ReportOptions& options);

// --- text of numbers, the same in every report ---

// `value` with `digits` decimals, never "-0.00".
std::string fixed(double value, int digits);

// The mean of a summary as text: "91.20 ± 0.31", "91.20 (n=1)", "–".
std::string with_interval(const Summary& summary, int digits);

// The spread behind a number as text, of a summary of the runs that it comes from: " ± 0.31",
// " (n=1)" where runs have no spread, "" without runs.
std::string spread_text(const Summary& of_runs, int digits);

// A ratio as text: "1.09× [1.07, 1.11]", "1.09× (n=1)", "–".
std::string ratio_text(const Ratio& ratio);

// A realisation as text: "0.31 [0.25, 0.37]", "0.31 (n=1)", "–".
std::string realisation_text(const std::optional<Realisation>& realisation);

// A number of seeds as text: "1 seed", "6 seeds".
std::string seeds_text(int64_t n);

// The note below a table with p-values. `over` is the text "the 5 losses of the table", `tests`
// their number.
std::string holm_note(const std::string& over, int64_t tests);

// The p of a test of `pairs` as text: "0.031". It is adjusted by Holm over a family of `tests` (1:
// not adjusted). "" without one, and where so few pairs can never have a p below 0.05.
std::string p_text(std::optional<double> p, int64_t pairs, int64_t tests);
// As p_text(), with a name: "p=0.031".
std::string loss_p_text(std::optional<double> p, int64_t pairs, int64_t tests);

// The method of a cell with its schedule: "zero, Schedule 1"; a dense row has no schedule.
std::string method_text(const Cell& cell);

// The mean for programs (results/render/column.h); nothing where nothing was measured.
inline Field as_field(const Summary& summary) {
  return summary.n > 0 ? Field(summary.mean) : Field();
}
inline Field as_field(const Ratio& ratio) { return ratio.n > 0 ? Field(ratio.ratio) : Field(); }

}  // namespace approx
