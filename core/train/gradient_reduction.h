// What processes that train one network together do with their gradients.
#pragma once

#include <vector>

#include "base/params.h"
#include "core/train/checkpoint.h"
#include "core/train/optimizer.h"
#include "core/train/step_graphs.h"

namespace approx {

// What a process would like to happen after a step.
struct Wishes {
  bool stop = false;  // it was asked to
  bool save = false;  // a checkpoint is due
};

class GradientReduction {
 public:
  GradientReduction() = default;
  virtual ~GradientReduction() = default;
  GradientReduction(const GradientReduction&) = delete;
  GradientReduction& operator=(const GradientReduction&) = delete;

  // Before the backward pass of a step: gradients may be sent from now on as they come.
  virtual void begin_step() {}

  // Overwrites the gradient of each parameter with its mean over all processes. Called once a step,
  // between the backward pass and everything that looks at gradients: they are still multiplied by
  // the loss scale and not yet clipped, so that all ranks see the same overflow, skip the same
  // steps and clip alike. The parameters are all of the network's, in the same order every time.
  //
  // The gradient of a parameter that the backward pass did not reach is undefined: a frozen skip
  // leaves it so. Which these are is decided by the schedule and the step alone, so all ranks leave
  // out the same ones; an implementation that waits for the others must leave them out too, since
  // none of them will come.
  virtual void reduce(const std::vector<NamedTensor>& parameters) = 0;

  // What all processes wish together, each of which says what it does: a wish of one is one of all.
  // They must do alike, so what it says is sent along with the next step, and what is returned went
  // with the last one.
  virtual Wishes agree(Wishes own) { return own; }

  // Throws what has gone wrong in the steps so far, where that is seen later than in the step; to
  // be called when the host has read of the device what they came to.
  virtual void check() const {}

  // What steps count here on the host; as long as this object lives.
  virtual HostCounts host_counts() { return {}; }

  // What was sent in all steps: "traffic" events (docs/internals/events.md).
  virtual std::vector<Json> events() const { return {}; }

  // What steps change here. A checkpoint of a training by one process has nothing of it.
  virtual void save(Checkpoint& /*checkpoint*/) const {}
  virtual void restore(const Checkpoint& /*checkpoint*/) {}
};

// One process alone: its gradients are the mean.
class NoReduction final : public GradientReduction {
 public:
  void reduce(const std::vector<NamedTensor>& /*parameters*/) override {}
};

}  // namespace approx
