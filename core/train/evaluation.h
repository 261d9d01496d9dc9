// Evaluates how well a network in training classifies a part of its data set.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>

#include "core/config/run_config.h"
#include "core/train/batches.h"
#include "core/train/session.h"

namespace approx {

// Shares of correctly classified examples, and the mean loss.
struct Score {
  double accuracy = 0, loss = 0;
};

class Evaluation {
 public:
  // Evaluates the network of `session`, which must have this configuration and data set, and must
  // outlive this. Make another Evaluation after Session::restore.
  Evaluation(const RunConfig& config, const LoadedDataset& dataset, Session& session);

  // The score on `images`, in evaluation mode. Uses the averaged weights if the recipe has them. If
  // the recipe asks for new statistics of batch norms, computes them and leaves them in the
  // network. With several ranks all must call this, and each evaluates its share. Waits for the
  // device.
  Score score(const DeviceImages& images);

 private:
  // The logits [B,classes] by which images x [B,C,H,W] are judged. If the recipe has shifted crops,
  // half is from the image, and half the mean over its two shifted crops.
  at::Tensor logits(const at::Tensor& x);
  // The logits of x; if the recipe has test_flip, their mean with the logits of its mirror image.
  at::Tensor flipped_logits(const at::Tensor& x);
  void renew_statistics();  // unless they are of the current weights

  RunConfig config_;
  Session& session_;
  at::Tensor mean_, scale_;
  int64_t renewed_at_ = -1;  // step at which the norms' statistics were last renewed
};

}  // namespace approx
