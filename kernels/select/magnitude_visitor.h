// Processes a gradient while it is written: takes its mean magnitude, and prunes it by a threshold
// that is known beforehand.
#pragma once

#include <ATen/core/Tensor.h>

#include <atomic>
#include <cstdint>
#include <vector>

#include "kernels/norm/gradient_visitor.h"
#include "kernels/rng.h"

namespace approx {

// The work on a gradient: take the mean of its magnitudes and, with a threshold, prune it
// (StochasticArgs, kernels/select/pruned.h).
struct GradientRequest {
  at::Tensor tau = {};  // [] float, on the gradient's device; undefined: no pruning
  Rng rng = {};         // only with tau
};

// The results, on the gradient's device.
struct SeenGradient {
  at::Tensor mean;  // [] float, of the magnitudes before any pruning
  at::Tensor
      kept;  // [] int64, how many entries are not zero after it; undefined: nothing is pruned
};

// Does the work, on a CPU or a GPU.
class MagnitudeVisitor final : public GradientVisitor {
 public:
  explicit MagnitudeVisitor(const GradientRequest& request) : request_(request) {}

  void begin(const at::Tensor& gradient, int64_t blocks) override;
  void visit(int64_t block, int64_t first, int64_t last) override;
  GradientLook look(const at::Tensor& gradient) override;

  // The result for the whole gradient. Call it once that is written. Waits for nothing.
  SeenGradient seen() const;

 private:
  GradientRequest request_;
  // For a gradient on a GPU: its kernel writes it. Otherwise undefined.
  SeenGradient on_device_;
  // The gradient on a CPU:
  at::ScalarType type_ = at::kFloat;
  void* numbers_ = nullptr;
  int64_t count_ = 0;
  float tau_ = 0;
  std::vector<double> sums_;  // of magnitudes, by block
  std::atomic<int64_t> kept_ = 0;
};

}  // namespace approx
