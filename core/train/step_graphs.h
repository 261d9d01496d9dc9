// Training steps as graphs of a device, so that a schedule costs nothing on the host. A step asks
// the same of the device whenever the schedule decides the same: of each row of decisions one step
// is captured, and all later ones are a replay. What changes from step to step stands on the device
// in places of its own: the step's number, by which methods draw, the learning rate, the batch.
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

// Which steps are alike.
struct StepRow {
  std::vector<int> decisions;  // of the schedule (ScheduledLayers::row)
  std::vector<int64_t> sizes;  // of the batch

  auto operator<=>(const StepRow&) const = default;
};

// Where steps count on the host what they did. Replays do not pass there.
struct HostCounts {
  std::vector<int64_t*> whole;
  std::vector<double*> real;
};

// How steps were done.
struct GraphReport {
  int64_t rows = 0;    // that were met
  int64_t graphs = 0;  // that are captured
  // Steps by how they were done: "replayed", "before capture", or why they could not be captured.
  std::map<std::string, int64_t> steps;
  std::string failed_capture;  // how the steps of the first row were done that could not; "": none
};

class StepGraphs {
 public:
  // As it is without graphs, so that what a step allocates once and keeps is there before its
  // capture, and algorithms are chosen.
  static constexpr int64_t kStepsBefore = 2;
  // A schedule that never repeats itself must not fill the device with graphs.
  static constexpr int64_t kMostGraphs = 64;

  // Whether all ranks that step together have captured, of which this one has, or has not.
  using AllHave = std::function<bool(bool own)>;

  // `counts` is what steps count. `must`: what goes wrong in capturing ends the training,
  // Error(kDevice). Where several ranks step together in exchanges of the device, a step must be a
  // replay on all of them or on none: they meet the same rows in the same order, and `all_have` is
  // asked at each capture; empty: there is this process alone.
  StepGraphs(std::unique_ptr<StepRecorder> recorder, at::Device device, HostCounts counts,
             bool must = false, AllHave all_have = {});

  // Puts the number of the next step and its learning rate where steps read them.
  void begin_step(int64_t step, double learning_rate);

  // int64 []; its address is Rng::step_at.
  const uint64_t* step_at() const;
  // [] of rate_type().
  const at::Tensor& learning_rate() const { return learning_rate_; }
  // A copy of the batch, at the place of its sizes.
  Batch placed(const Batch& batch);

  // Does a step of that row. `step` is called to do it or to capture it; where the step is
  // replayed, the counts change as they did when it was captured. A `why_not` that is not empty
  // keeps this step from being captured and replayed. Where capturing goes wrong the step is done
  // without, and so are all later ones of the row.
  void run(const StepRow& row, const std::string& why_not, const std::function<void()>& step);

  // Lets all captured steps go: the tensors that they read and write are others now.
  void forget();

  GraphReport report() const;

 private:
  // What a captured step added to one count.
  template <typename Number>
  struct Change {
    Number* count;
    Number by;
  };
  struct Row {
    int64_t steps_before = 0;
    std::string failure;  // of its capture
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
  std::map<std::vector<int64_t>, Batch> batches_;  // by sizes
  std::map<StepRow, Row> rows_;
  int64_t graphs_ = 0;
  std::map<std::string, int64_t> steps_;
  std::string failed_capture_;
};

}  // namespace approx
