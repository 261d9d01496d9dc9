// The store: every run, in one SQLite file. With journal mode TRUNCATE and synchronous FULL, an
// acknowledged result survives a power cut. The used versions of SQLite have a known fault in WAL
// mode (docs/internals/store.md). The row of a run appears when the run starts. All its other data
// is written in the one transaction that ends it.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/params.h"
#include "core/experiment/experiment.h"
#include "results/store/database.h"
#include "results/store/run_state.h"

namespace approx {

// The end of a run, seen from outside its process.
struct RunEnd {
  RunState state = RunState::kFinished;  // or another good end, as its events say
  std::optional<int> exit_code, signal;
  std::string error;               // one line, with the last lines of its stderr if it crashed
  std::vector<std::string> taint;  // disturbances of its clock, besides those in its events
};

struct CellStatus {
  int64_t cell_id = 0;
  int64_t attempts = 0;
  int64_t run_id = 0;             // of the last attempt; 0 without attempts
  std::optional<RunState> state;  // of the last attempt; nothing without attempts
  std::string error;
  bool tainted = false;  // a timing run that finished, but was disturbed or shared the machine
  std::string commit;  // of the sources that computed the last attempt; "" or "unknown": not known
};

// Whether an experiment gives up cells without a run that it no longer asks for.
enum class Retire { kUnasked, kNothing };

struct StudyRecord {
  std::string experiment;  // id of the experiment that asked for it, or ""
  std::string name;
  Json params = Json::object(), methods = Json::array();
  Json content;  // {"columns": [...], "rows": [[...]]}
};

class RunStore {
 public:
  // kRead works on a copy in memory of the content that was committed when it was opened.
  enum class Mode { kRead, kWrite };

  // Opens the database; kWrite also creates or migrates it. Throws Error(kDatabase) if the file is
  // no SQLite file, is corrupt, of another application, of a newer schema or not writable. Throws
  // it also if the file stays locked for 60 s, and with kRead if there is no file. The file is then
  // unchanged.
  RunStore(const std::string& path, Mode mode, StoreOptions options = {});
  ~RunStore();
  RunStore(RunStore&&) noexcept;

  // Sets how waits for other processes' locks pass their time from now on (StoreOptions::pause).
  void set_pause(std::function<void(std::chrono::milliseconds)> pause);

  // Records the experiment and its cells (existing ones are re-used by key). Earlier cells stay
  // while the experiment's text is unchanged, so that sweeps narrowed by flags add up. If the text
  // changed, cells without runs are given up, unless another sweep of the experiment may still be
  // at work. `others_at_work` is asked about that while no other process can add cells. Returns the
  // experiment's id.
  int64_t add_experiment(const Experiment& experiment, const std::string& command_line,
                         Retire retire = Retire::kUnasked,
                         const std::function<bool()>& others_at_work = {});

  // The file of the stored experiment of that id if both its file name and its text differ: runs of
  // both would share one table. "" where the experiment is the stored one, or none is stored.
  std::string other_source(const Experiment& experiment) const;

  // The status of a cell; attempts 0 and no state for a key that the store does not know.
  CellStatus status(std::string_view run_key) const;

  // Adds the row of a run in state `running`, the next attempt of its cell. It holds the lock
  // `claim` in run_directory until finish() or the end of this process. So nobody takes the run for
  // lost before its worker has locked the directory (RunLock). `environment` is the worker's
  // "start" event, or the part of it that is known; finish() takes a later one from the events.
  // Returns nothing if another process runs that cell now; a lost run, whose locks are free, is
  // first marked as lost. Returns nothing also if another process began or finished the cell since
  // the caller looked. That is so if the cell has a result and `seen_attempts` is not given, or if
  // its number of attempts is not `seen_attempts`. Give `seen_attempts` (CellStatus::attempts) to
  // run a cell again.
  // Throws Error(kInternal) for a key that no experiment added.
  std::optional<int64_t> begin(std::string_view run_key, const Json& environment,
                               const std::string& run_directory,
                               std::optional<int64_t> seen_attempts = std::nullopt);

  // Ends a run in one transaction: stores its metrics, per-layer statistics, timing blocks and
  // totals from the worker's events, and its state. A run that ends well takes the state of its
  // "final" event; without such an event it has failed. Malformed events are left out, and counted
  // in its error text. Throws Error(kInternal) when the run is not running.
  void finish(int64_t run_id, const std::vector<Json>& events, const RunEnd& end);

  // Takes back a run that has begun: its cell is as before. The files in its folder stay. Throws
  // Error(kInternal) when the run is not running.
  void discard(int64_t run_id);

  // Settles every running row whose worker and coordinator are gone (the locks of its directory are
  // free). It stores the events of its events.jsonl. With a "final" event the run has ended as that
  // says, otherwise it is marked as lost. Returns the number of settled rows.
  int64_t recover();

  // Adds the rows of one kernel benchmark; fields in docs/internals/events.md ("kernel").
  // `experiment` is the id of the one that asked for it, or "".
  void add_kernel_results(const Json& environment, const std::vector<Json>& rows,
                          const std::string& experiment = "");

  // Adds the table of one study: its name, parameters and methods, and {"columns", "rows"}.
  void add_study(const Json& environment, const StudyRecord& study);

  // Whether a kernel benchmark or a study of that experiment is in the store.
  bool has_item_results(const std::string& experiment) const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace approx
