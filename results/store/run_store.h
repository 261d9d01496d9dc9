// The store: every run, in one SQLite file. Journal TRUNCATE, synchronous FULL: a result that was
// acknowledged survives a power cut, and the versions of SQLite in use have a known fault in WAL
// mode (docs/internals/store.md). A row appears when a run starts; everything else of it is written
// in the one transaction that ends it.
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

// How a run ended, seen from outside its process.
struct RunEnd {
  RunState state = RunState::kFinished;  // or another good end, as its events say
  std::optional<int> exit_code, signal;
  std::string error;               // one line; with the last lines of its stderr where it crashed
  std::vector<std::string> taint;  // what disturbed its clock, besides what its events report
};

struct CellStatus {
  int64_t cell_id = 0;
  int64_t attempts = 0;
  int64_t run_id = 0;             // of the last attempt, 0 when there is none
  std::optional<RunState> state;  // likewise, nothing
  std::string error;
  bool tainted = false;  // a timing run that finished, but was disturbed or shared the machine
};

// Which cells without a run an experiment gives up that no longer asks for them.
enum class Retire { kUnasked, kNothing };

struct StudyRecord {
  std::string experiment;  // the id of the one that asked for it, or ""
  std::string name;
  Json params = Json::object(), methods = Json::array();
  Json content;  // {"columns": [...], "rows": [[...]]}
};

class RunStore {
 public:
  // kRead works on a copy in memory of what was committed when it was opened.
  enum class Mode { kRead, kWrite };

  // Opens (kWrite: and creates or migrates) the database. Throws Error(kDatabase) for a file that
  // is no SQLite file, is corrupt, of another application or of a newer schema, is not writable,
  // or stays locked for 60 s; the file is not touched then. kRead: also when there is no file.
  RunStore(const std::string& path, Mode mode, StoreOptions options = {});
  ~RunStore();
  RunStore(RunStore&&) noexcept;

  // How waits for other processes' locks pass their time from now on (StoreOptions::pause).
  void set_pause(std::function<void(std::chrono::milliseconds)> pause);

  // Records the experiment and its cells (existing ones are re-used by key). Cells recorded
  // before stay while the experiment's text is the same, so that sweeps narrowed by flags add up;
  // of another text only those that have runs stay, unless a sweep of it may still be at work:
  // `others_at_work` is asked while nobody else can add what such a sweep is about to run.
  // Returns the experiment's id.
  int64_t add_experiment(const Experiment& experiment, const std::string& command_line,
                         Retire retire = Retire::kUnasked,
                         const std::function<bool()>& others_at_work = {});

  // The file of the stored experiment of that id where it is another one, by its name and its text:
  // the runs of both would stand in one table. "" where it is the same, or there is none.
  std::string other_source(const Experiment& experiment) const;

  // attempts 0 and no state for a key that the store does not know.
  CellStatus status(std::string_view run_key) const;

  // Adds the row of a run in state `running`: the next attempt of its cell, and holds the lock
  // `claim` in run_directory until finish() or its own end, so that nobody takes the run for lost
  // before its worker has locked the directory itself (RunLock). `environment` is the worker's
  // "start" event, or what is known of it; finish() takes a later one from the events.
  // Returns nothing when another process is running that cell now (a lost one, whose locks are
  // free, is first marked so), and when the cell was begun or finished by another since the caller
  // looked: it has a result although `seen_attempts` is not given, or its number of attempts is not
  // `seen_attempts` (CellStatus::attempts; give it to run a cell again).
  // Throws Error(kInternal) for a key that no experiment added.
  std::optional<int64_t> begin(std::string_view run_key, const Json& environment,
                               const std::string& run_directory,
                               std::optional<int64_t> seen_attempts = std::nullopt);

  // Ends a run in one transaction: its metrics, per-layer statistics, timing blocks and totals
  // from the events of the worker, and its state. A run that ends well without a "final" event has
  // failed; one that ends well has the state of that event. Malformed events are left out, and
  // counted in its error text. Throws Error(kInternal) when the run is not running.
  void finish(int64_t run_id, const std::vector<Json>& events, const RunEnd& end);

  // Takes back a run that has begun, as if nobody had: its cell stands as before. What is in its
  // folder stays. Throws Error(kInternal) when the run is not running.
  void discard(int64_t run_id);

  // Marks as lost every running row whose worker and coordinator are gone (the locks of its
  // directory are free) after ingesting what its events.jsonl holds; one with a "final" event there
  // has ended as that says. Returns how many rows were settled.
  int64_t recover();

  // One kernel-benchmark row set; fields in docs/internals/events.md ("kernel"). `experiment`: the
  // id of the one that asked for it, or "".
  void add_kernel_results(const Json& environment, const std::vector<Json>& rows,
                          const std::string& experiment = "");

  // The table of one study: its name, parameters and methods, and {"columns", "rows"}.
  void add_study(const Json& environment, const StudyRecord& study);

  // Whether a kernel benchmark or a study of that experiment is in the store.
  bool has_item_results(const std::string& experiment) const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace approx
