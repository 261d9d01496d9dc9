// The contents of a store for the live page: its runs and its tables. Runs at work are known by
// their events. It only reads: the store's file is opened for reading and copied.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cli/serve/live_curve.h"
#include "core/config/catalogue.h"
#include "results/records/snapshot.h"
#include "results/render/table.h"
#include "results/reports/sweep_status.h"

namespace approx {

// Facts that tell runs apart and by which they are chosen: the name in an address, and the word on
// the page.
struct Fact {
  const char* key;
  const char* word;
};
inline constexpr std::array kFacts = {
    Fact{"experiment", "experiment"},
    Fact{"method", "method"},
    Fact{"schedule", "schedule"},
    Fact{"network", "network"},
    Fact{"dataset", "data set"},
    Fact{"state", "state"},
    Fact{"purpose", "purpose"},
    Fact{"precision", "precision"},
    Fact{"device", "device"},
    Fact{"machine", "machine"},
    Fact{"processor", "processor"},
    Fact{"threads", "threads"},
    Fact{"batch", "batch size"},
    Fact{"epochs", "epochs"},
    Fact{"rate", "learning rate"},
    Fact{"images", "images"},
    Fact{"split", "split"},
    Fact{"build", "build"},
    Fact{"seed", "seed"},
};

// The place of a fact in kFacts, kFacts.size() for none.
size_t fact_named(std::string_view key);

// One run of an experiment. If it has several attempts, this is the one at work, else the last with
// a result, else the last.
struct LiveRun {
  int64_t run_id = 0;                            // 0: not begun
  std::string label;                             // "zero, Schedule 1, resnet20, cifar10, seed 3"
  std::array<std::string, kFacts.size()> facts;  // "": not known
  bool at_work = false;
  std::optional<double> epoch, accuracy, train_s;  // accuracy: a share, the last
  std::string started, error;                      // UTC; one line
  std::string folder;
};

class LiveStore {
 public:
  // `catalogue` as in ReportOptions. Reads nothing yet.
  LiveStore(std::string path, const Catalogue* catalogue);
  ~LiveStore();

  // Reads the store for the first time, if there is one. Throws Error(kDatabase) and Error(kUsage)
  // as Snapshot does. It waits for a store that is missing in an existing folder.
  void open(const StoreOptions& options);

  // Whether the store's file or the events of its runs at work have changed since they were read.
  // It asks the file system alone.
  bool changed() const;

  // Reads all changes. If that fails, the reason becomes problem(), and earlier contents stay.
  void renew();

  const std::string& path() const { return path_; }
  const std::string& problem() const { return problem_; }     // one line, "" without
  const std::vector<LiveRun>& runs() const { return runs_; }  // in the order of their experiments
  const std::vector<SweepStatus>& sweeps() const { return sweeps_; }
  const Table& verdicts() const { return verdicts_; }  // `report table`, with verdicts

  // The reports of one of runs().
  LiveCurve curve(const LiveRun& run) const;

 private:
  void read(const StoreOptions& options);
  void read_runs();
  void follow_runs();
  std::string stamp() const;
  std::string events_stamp() const;

  const std::string path_;
  const Catalogue* const catalogue_;
  std::string problem_, stamp_, events_stamp_;
  std::optional<std::chrono::steady_clock::time_point> again_;  // when to try again after a problem
  std::unique_ptr<Snapshot> snapshot_;
  std::vector<LiveRun> runs_;
  std::vector<SweepStatus> sweeps_;
  Table verdicts_;
  std::map<int64_t, EventTail> tails_;  // by run
};

}  // namespace approx
