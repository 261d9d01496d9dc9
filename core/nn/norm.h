// Batch normalisation with what usually follows it: an addition, a ReLU, a GELU or a CELU. Together
// they take a third of a small residual network's step, nearly all of it memory traffic: as one
// operation they read and write half as much.
#pragma once

#include <torch/nn/module.h>
#include <torch/nn/pimpl.h>

#include <memory>
#include <set>
#include <utility>
#include <vector>

#include "core/nn/operator_choice.h"
#include "core/parallel/collectives.h"
#include "kernels/norm/fused_norm.h"

namespace approx {

// While one lives, it notes the graph nodes whose results the batch norms of its thread take, by
// themselves or in a sum: how the description of a network tells after which layers one follows.
// What comes back through a norm has no zeros of a ReLU, and is the same for all terms of a sum.
class NormInputs {
 public:
  NormInputs() : before_(std::exchange(current_, this)) {}
  ~NormInputs() { current_ = before_; }
  NormInputs(const NormInputs&) = delete;
  NormInputs& operator=(const NormInputs&) = delete;

  // Whether a batch norm took the result of the node that computed `tensor`.
  bool took(const at::Tensor& tensor) const { return nodes_.contains(tensor.grad_fn()); }

  static void note(const at::Tensor& x) {
    if (current_ != nullptr) current_->add(x.grad_fn());
  }

 private:
  void add(const std::shared_ptr<torch::autograd::Node>& node);

  static inline thread_local NormInputs* current_ = nullptr;
  NormInputs* before_;
  std::set<std::shared_ptr<torch::autograd::Node>> nodes_;
};

struct BatchNormOptions {
  int64_t channels = 1;
  double epsilon = 1e-5;
  double momentum = 0.1;     // the share of a new batch in the running statistics
  bool zero_weight = false;  // gamma starts at 0: a residual block starts as the identity
  bool scale = true;         // false: gamma is 1 and no parameter, whatever zero_weight says
  double celu_alpha = 1;     // of celu(), above 0
};

// Ioffe & Szegedy 2015, Algorithms 1 and 2: y = gamma (x - mean) / sqrt(variance + epsilon) + beta,
// per channel over N, H and W; in training mode with the batch's biased variance, the running one
// is updated with the unbiased; in evaluation mode with the running statistics.
class BatchNormImpl : public torch::nn::Module, public OperatorChoice {
 public:
  explicit BatchNormImpl(const BatchNormOptions& options);
  explicit BatchNormImpl(int64_t channels)
      : BatchNormImpl(BatchNormOptions{.channels = channels}) {}

  // x [N,C,H,W] -> [N,C,H,W]
  at::Tensor forward(const at::Tensor& x);

  // max(0, norm(x))
  at::Tensor relu(const at::Tensor& x);

  // GELU(norm(x)) = norm(x) Phi(norm(x)), exactly, as torch.nn.GELU()
  at::Tensor gelu(const at::Tensor& x);

  // max(0, norm(x)) + min(0, alpha (exp(norm(x) / alpha) - 1)), as torch.nn.CELU(alpha)
  at::Tensor celu(const at::Tensor& x);

  // max(0, norm(x) + residual), `residual` shaped as x
  at::Tensor add_relu(const at::Tensor& x, const at::Tensor& residual);

  // GELU(norm(x) + residual), `residual` shaped as x
  at::Tensor add_gelu(const at::Tensor& x, const at::Tensor& residual);

  void set_momentum(double momentum) { momentum_ = momentum; }
  double momentum() const { return momentum_; }

  // Training statistics over the images of all of these, who call the same norms in the same order
  // with as many images each; null: over those of this process.
  std::shared_ptr<Collectives> ranks;

  // "Ghost batch norm" (Hoffer, Hubara & Soudry 2017, Algorithm 1): a training batch is normalised
  // in parts of so many consecutive images, each by its own mean and variance. A last part may be
  // smaller. The running statistics move once a batch, by the mean over its images of the parts'
  // means and unbiased variances; Hoffer et al. move them once for each part. 0, or no fewer than
  // the batch has: the whole batch is one part. Not with `ranks`. Throws Error(kUsage) where a part
  // of several has a single pixel.
  int64_t ghost_batch = 0;

  at::Tensor weight, bias;  // gamma, beta: [C], parameters; gamma a buffer where it is fixed
  at::Tensor running_mean, running_variance;  // [C], buffers

 private:
  at::Tensor run(const at::Tensor& x, const ShapedTail& tail, const at::Tensor& residual);
  // The same by LibTorch's operators: where they are wanted (OperatorChoice), and for what the
  // fused kernel does not take.
  at::Tensor composed(const at::Tensor& x, const ShapedTail& tail, const at::Tensor& residual);
  at::Tensor composed_in_parts(const std::vector<at::Tensor>& parts, int64_t images);
  // x in parts of `ghost_batch` images.
  std::vector<at::Tensor> parts_of(const at::Tensor& x) const;
  // Moves the running statistics by those of all parts of x, in their order.
  void update_running(const std::vector<NormStatistics>& parts, const at::Tensor& x);
  RunningStatistics running() const { return {running_mean, running_variance, momentum_}; }

  double epsilon_, momentum_, celu_alpha_;
};
TORCH_MODULE(BatchNorm);

// While it lives the batch norms of a network take the mean over all batches that pass through it
// for their running statistics, as Izmailov et al. 2018, section 3.2, do it after training; all
// else of the network stays as it is, which is to be evaluation.
class RenewedStatistics {
 public:
  explicit RenewedStatistics(const torch::nn::Module& network);
  ~RenewedStatistics();
  RenewedStatistics(const RenewedStatistics&) = delete;
  RenewedStatistics& operator=(const RenewedStatistics&) = delete;

  // To be called before each batch. Norms count batches alike, by their number of images.
  void expect(int64_t images);

  int64_t seen() const { return seen_; }  // images, that batch included

 private:
  struct Kept {
    BatchNormImpl* norm;
    double momentum;
  };
  std::vector<Kept> norms_;
  int64_t seen_ = 0;
};

// Gives the batch norms of a network the ranks that they take their statistics over.
void synchronise_norms(const torch::nn::Module& network, const std::shared_ptr<Collectives>& ranks);

// Sets `ghost_batch` of the batch norms of a network. Returns whether it has any.
bool set_ghost_batch(const torch::nn::Module& network, int64_t images);

}  // namespace approx
