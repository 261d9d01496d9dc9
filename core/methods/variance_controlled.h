// The interface of methods whose sampling ratios are controlled. Passes beside the training measure
// how much their draws add to the variance of the gradient (core/train/gradient_variance.h). The
// ratios follow from that (core/train/variance_control.h).
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <vector>

namespace approx {

// The shares of the examples that a layer keeps, above 0 and at most 1.
struct ExampleRatios {
  double examples = 1;  // of the batch, for both gradients
  double weights = 1;   // of those, for the weight gradient of a linear layer

  bool operator==(const ExampleRatios&) const = default;
};

class VarianceControlled {
 public:
  virtual ~VarianceControlled() = default;

  // The most that its draws may add to the variance, as a share of the variance between batches. 0:
  // its ratios are fixed and nothing is measured.
  virtual double tolerance() const = 0;
  // Steps from one measurement to the next; 1 or more.
  virtual int64_t every() const = 0;

  virtual ExampleRatios ratios() const = 0;
  virtual void set_ratios(const ExampleRatios& ratios) = 0;

  // The pass that the next calls of Method::plan are part of.
  enum class Pass {
    kTraining,
    kExact,   // plans are exact, and the norms of the gradients' examples are noted
    kSampled  // examples are sampled; weight gradients take all of the sample, and what a second
              // sample would add to their variance is noted
  };
  virtual void begin_pass(Pass pass) = 0;

  // The Euclidean norms of the examples of each gradient that was planned for in the exact passes
  // since the last call: [N] each.
  virtual std::vector<at::Tensor> take_norms() = 0;
  // The variance that second samples would have added to the weight gradient, summed over the
  // sampled passes since the last call. Waits for the device.
  virtual double take_weight_variance() = 0;
};

}  // namespace approx
