// How well a network in training classifies a part of its data set.
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
  // Evaluates the network of `session`, which was made of the same configuration and data set and
  // must outlive this. Make another Evaluation after Session::restore.
  Evaluation(const RunConfig& config, const LoadedDataset& dataset, Session& session);

  // The score on `images`, in evaluation mode. Uses the averaged weights if the recipe has them. If
  // it asks for new statistics of batch norms, takes them and leaves them in the network. With
  // several ranks all must call this, and each evaluates its share. Waits for the device.
  Score score(const DeviceImages& images);

 private:
  // The logits [B,classes] by which images x [B,C,H,W] are judged: half of it those of the image,
  // half the mean of those of its two shifted crops, as far as the recipe has them.
  at::Tensor logits(const at::Tensor& x);
  // The logits of x, or the mean of these and of those of its mirror image.
  at::Tensor flipped_logits(const at::Tensor& x);
  void renew_statistics();  // unless they are of the weights of now

  RunConfig config_;
  Session& session_;
  at::Tensor mean_, scale_;
  int64_t renewed_at_ = -1;  // the step whose weights the norms' statistics were last taken anew of
};

}  // namespace approx
