// Batch normalisation with the operation that usually follows it: an addition, a ReLU, a GELU or a
// CELU. Together they take a third of a small residual network's step, nearly all of it memory
// traffic. As one operation they read and write half as much.
#pragma once

#include <torch/nn/module.h>
#include <torch/nn/pimpl.h>

#include <memory>
#include <set>
#include <utility>
#include <vector>

#include "core/nn/branch_orders.h"
#include "core/nn/operator_choice.h"
#include "core/parallel/collectives.h"
#include "kernels/norm/fused_norm.h"

namespace approx {

// While one lives, it notes the graph nodes whose results the batch norms of its thread take, by
// themselves or in a sum. The description of a network so finds out which layers a batch norm
// follows. The gradient behind a norm has no zeros of a ReLU, and is equal for all terms of a sum.
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
  double momentum = 0.1;     // weight of a new batch in the running statistics
  bool zero_weight = false;  // gamma starts at 0: a residual block starts as the identity
  bool scale = true;         // false: gamma is a constant 1, whatever zero_weight says
  double celu_alpha = 1;     // of celu(), above 0
};

// Ioffe & Szegedy 2015, Algorithms 1 and 2, per channel over N, H and W:
//   y = gamma (x - mean) / sqrt(variance + epsilon) + beta
// In training mode it uses the batch's mean and biased variance. The running variance is updated
// with the unbiased one. In evaluation mode it uses the running statistics.
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

  // max(0, norm(x) + residual), `residual` shaped as x. `branch`: the orders of the branch that
  // ends with this norm.
  at::Tensor add_relu(const at::Tensor& x, const at::Tensor& residual,
                      const BranchOrders& branch = {});

  // GELU(norm(x) + residual), `residual` shaped as x. If the branch has orders, it is computed in
  // two operations, and rounded between them.
  at::Tensor add_gelu(const at::Tensor& x, const at::Tensor& residual,
                      const BranchOrders& branch = {});

  void set_momentum(double momentum) { momentum_ = momentum; }
  double momentum() const { return momentum_; }

  // If set, training statistics are over the images of all ranks of the world. All must call the
  // same norms in the same order, with equally many images each. Null: over the images of this
  // process.
  std::shared_ptr<Collectives> ranks;

  // "Ghost batch norm" (Hoffer, Hubara & Soudry 2017, Algorithm 1). A training batch is split into
  // parts of `ghost_batch` consecutive images. Each part is normalised by its own mean and
  // variance. The last part may be smaller. The running statistics move once a batch, by the parts'
  // means and unbiased variances, averaged over the batch's images. Hoffer et al. move them once
  // for each part. If 0 or at least the batch's size, the whole batch is one part. Not allowed with
  // `ranks`. Throws Error(kUsage) if one of several parts has a single pixel.
  int64_t ghost_batch = 0;

  at::Tensor weight, bias;  // gamma, beta: [C], parameters; gamma a buffer if not `scale`
  at::Tensor running_mean, running_variance;  // [C], buffers

 private:
  // `scale` is that of BranchOrders.
  at::Tensor run(const at::Tensor& x, const ShapedTail& tail, const at::Tensor& residual,
                 double scale = 1);
  // Does the work of run() by LibTorch's operators: where they are asked for (OperatorChoice), and
  // for inputs that the fused kernel does not take.
  at::Tensor composed(const at::Tensor& x, const ShapedTail& tail, const at::Tensor& residual,
                      double scale);
  at::Tensor composed_in_parts(const std::vector<at::Tensor>& parts, int64_t images);
  // Splits x into parts of `ghost_batch` images.
  std::vector<at::Tensor> parts_of(const at::Tensor& x) const;
  // Moves the running statistics by the statistics of all parts of x, in their order.
  void update_running(const std::vector<NormStatistics>& parts, const at::Tensor& x);
  RunningStatistics running() const { return {running_mean, running_variance, momentum_}; }

  double epsilon_, momentum_, celu_alpha_;
};
TORCH_MODULE(BatchNorm);

// max(0, norm(x)) in training mode, by the statistics of x (norm_statistics). It has a gradient,
// which takes the statistics as functions of x. x must fit (fused_norm_fits), weight and bias are
// float.
at::Tensor norm_relu(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& bias,
                     const NormStatistics& statistics);

// While one lives, the running statistics of a network's batch norms become the mean over all
// batches that pass through it. Izmailov et al. 2018, section 3.2, compute them so after training.
// The rest of the network is not changed: the caller puts it into evaluation mode.
class RenewedStatistics {
 public:
  explicit RenewedStatistics(const torch::nn::Module& network);
  ~RenewedStatistics();
  RenewedStatistics(const RenewedStatistics&) = delete;
  RenewedStatistics& operator=(const RenewedStatistics&) = delete;

  // Call it before each batch. Norms weight a batch by its number of images.
  void expect(int64_t images);

  int64_t seen() const { return seen_; }  // images, with the batch announced last

 private:
  struct Kept {
    BatchNormImpl* norm;
    double momentum;
  };
  std::vector<Kept> norms_;
  int64_t seen_ = 0;
};

// Lets the batch norms of a network take their statistics over `ranks`.
void synchronise_norms(const torch::nn::Module& network, const std::shared_ptr<Collectives>& ranks);

// Sets `ghost_batch` of the batch norms of a network. Returns whether the network has any.
bool set_ghost_batch(const torch::nn::Module& network, int64_t images);

}  // namespace approx
