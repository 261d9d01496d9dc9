// The exchange of gradients between processes that train one network together.
#pragma once

#include <vector>

#include "base/params.h"
#include "core/train/checkpoint.h"
#include "core/train/optimizer.h"
#include "core/train/step_graphs.h"

namespace approx {

// The wishes of a process after a step.
struct Wishes {
  bool stop = false;  // it was asked to stop
  bool save = false;  // a checkpoint is due
};

class GradientReduction {
 public:
  GradientReduction() = default;
  virtual ~GradientReduction() = default;
  GradientReduction(const GradientReduction&) = delete;
  GradientReduction& operator=(const GradientReduction&) = delete;

  // Called before the backward pass of a step: gradients may be sent from now on, as they are
  // computed.
  virtual void begin_step() {}

  // Overwrites the gradient of each parameter with its mean over all processes. Called once a step,
  // between the backward pass and all code that uses gradients. They are still multiplied by the
  // loss scale and not yet clipped. All ranks therefore see one overflow, skip the same steps and
  // clip alike. The parameters are all of the network's, always in one order.
  //
  // The gradient of a parameter that the backward pass did not reach is undefined. A weight of the
  // method `zero:freeze=true` is an example. The schedule and the step alone decide which ones, so
  // that all ranks leave out the same ones. An implementation that waits for the others must leave
  // them out too: no rank will send them.
  virtual void reduce(const std::vector<NamedTensor>& parameters) = 0;

  // Exchanges the wishes of all processes. A wish of one becomes a wish of all, as all must act
  // alike. `own` is sent with the next step, and the returned wishes came with the last one.
  virtual Wishes agree(Wishes own) { return own; }

  // Throws the failure of a step so far that only becomes known after the step. Call it when the
  // host has read the results of these steps from the device.
  virtual void check() const {}

  // The counters that steps change on the host. They live as long as this object.
  virtual HostCounts host_counts() { return {}; }

  // The bytes sent in all steps: "traffic" events (docs/internals/events.md).
  virtual std::vector<Json> events() const { return {}; }

  // The state that steps change here. A checkpoint of a training by one process has none of it.
  virtual void save(Checkpoint& /*checkpoint*/) const {}
  virtual void restore(const Checkpoint& /*checkpoint*/) {}
};

// For a single process: its gradients are the mean.
class NoReduction final : public GradientReduction {
 public:
  void reduce(const std::vector<NamedTensor>& /*parameters*/) override {}
};

}  // namespace approx
