// Training steps as graphs of a device, so that a schedule costs no time on the host. Steps give
// the device equal work whenever the schedule decides alike. For each row of decisions one step is
// captured, and later steps replay it. Values that change from step to step are in fixed places on
// the device. They are the step's number, which keys random draws, the learning rate and the batch.
#pragma once

#include <ATen/core/Tensor.h>

#include <compare>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "core/train/batches.h"
#include "core/train/step_recorder.h"

namespace approx {

// Steps of one row are alike.
struct StepRow {
  std::vector<int> decisions;  // of the schedule (ScheduledLayers::row)
  std::vector<int64_t> sizes;  // of the batch

  auto operator<=>(const StepRow&) const = default;
};

// The counters of steps on the host. A replay does not run the code that changes them.
struct HostCounts {
  std::vector<int64_t*> whole;
  std::vector<double*> real;
};

// How steps were done.
struct GraphReport {
  int64_t rows = 0;    // rows that occurred
  int64_t graphs = 0;  // rows that are captured
  // Steps by how they were done: "replayed", "before capture", or why they could not be captured.
  std::map<std::string, int64_t> steps;
  std::string failed_capture;  // how steps are done of the first row whose capture failed; "": none
};

class StepGraphs {
 public:
  // Steps of a row that are done without a graph before its capture. They allocate the memory that
  // a step keeps, and choose algorithms.
  static constexpr int64_t kStepsBefore = 2;
  // A limit, so that a schedule that never repeats cannot fill the device with graphs.
  static constexpr int64_t kMostGraphs = 64;

  // Whether all ranks that step together have captured; `own`: whether this one has.
  using AllHave = std::function<bool(bool own)>;

  // `counts` are the counters of steps. `must`: a failed capture ends the training with
  // Error(kDevice). If several ranks step together in exchanges of the device, a step must be a
  // replay on all of them or on none. They meet equal rows in equal order, and `all_have` is called
  // at each capture. Empty: this process alone.
  StepGraphs(std::unique_ptr<StepRecorder> recorder, at::Device device, HostCounts counts,
             bool must = false, AllHave all_have = {});

  // Stores the number of the next step and its learning rate where steps read them.
  void begin_step(int64_t step, double learning_rate);

  // int64 []; it is Rng::step_at.
  const uint64_t* step_at() const;
  // [] of rate_type().
  const at::Tensor& learning_rate() const { return learning_rate_; }
  // A copy of the batch, at a fixed address for its sizes.
  Batch placed(const Batch& batch);

  // Does a step of that row. It calls `step` to do it or to capture it. If the step is replayed,
  // the counters change as they did in its capture. A `why_not` that is not empty keeps this step
  // from being captured or replayed. If a capture fails, the step is done without a graph, and so
  // are all later ones of the row.
  void run(const StepRow& row, const std::string& why_not, const std::function<void()>& step);

  // Drops all captured steps: the tensors that they use were replaced.
  void forget();

  GraphReport report() const;

 private:
  // The amount that a captured step added to one counter.
  template <typename Number>
  struct Change {
    Number* count;
    Number by;
  };
  struct Row {
    int64_t steps_before = 0;
    std::string failure;  // of its capture; "": none
    std::unique_ptr<RecordedStep> recorded;
    std::vector<Change<int64_t>> whole;
    std::vector<Change<double>> real;
  };

  void capture(Row& row, const std::function<void()>& step);
  static void replay(Row& row);

  std::unique_ptr<StepRecorder> recorder_;
  const HostCounts counts_;
  const bool must_;
  const AllHave all_have_;
  at::Tensor step_, learning_rate_;
  std::map<std::vector<int64_t>, Batch> batches_;  // by batch sizes
  std::map<StepRow, Row> rows_;
  int64_t graphs_ = 0;
  std::map<std::string, int64_t> steps_;
  std::string failed_capture_;
};

}  // namespace approx
