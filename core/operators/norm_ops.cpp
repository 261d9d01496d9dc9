// torch.ops.approxtrain.norm_*: batch norms with the ReLU behind them, for the Python package
// (python/src/approxtrain/_norms.py). The statistics come first, since they move the running ones
// whatever follows the norm.
#include <ATen/ATen.h>
#include <torch/library.h>

#include <algorithm>
#include <vector>

#include "core/nn/norm.h"
#include "core/operators/checks.h"
#include "kernels/norm/fused_norm.h"

namespace approx {
namespace {

// Whether the fused norm takes these: x as fused_norm_fits() says, the others [C] float beside it.
bool norm_fits(const at::Tensor& x, at::TensorList per_channel) {
  if (x.dim() != 4 || !(x.is_cpu() || x.is_cuda()) || x.is_neg()) return false;
  check_operand(x, "approxtrain::norm_statistics", "x", /*may_be_meta=*/false);
  return fused_norm_fits(x) && std::ranges::all_of(per_channel, [&x](const at::Tensor& one) {
           return one.dim() == 1 && one.size(0) == x.size(1) && one.is_contiguous() &&
                  one.scalar_type() == at::kFloat && one.device() == x.device();
         });
}

// Mean, biased variance and 1 / sqrt(variance + epsilon) of x [N,C,H,W] by channel, and moves the
// running statistics. Nothing, and changes nothing, where the fused norm does not take the tensors.
std::vector<at::Tensor> layer_norm_statistics(const at::Tensor& x, const at::Tensor& weight,
                                              const at::Tensor& bias,
                                              const at::Tensor& running_mean,
                                              const at::Tensor& running_variance, double momentum,
                                              double epsilon) {
  if (!norm_fits(x, {weight, bias, running_mean, running_variance})) return {};
  const int64_t count = x.numel() / std::max<int64_t>(1, x.size(1));  // of a channel
  if (count < 2) return {};
  const at::NoGradGuard no_grad;
  const auto found =
      norm_statistics_moving(x, epsilon, {running_mean, running_variance, momentum},
                             static_cast<double>(count) / static_cast<double>(count - 1));
  return {found.mean, found.variance, found.inverse_deviation};
}

// max(0, norm(x)) by the statistics that layer_norm_statistics() gave, with its gradient.
at::Tensor layer_norm_relu(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& bias,
                           const at::Tensor& mean, const at::Tensor& variance,
                           const at::Tensor& inverse_deviation) {
  TORCH_CHECK_VALUE(norm_fits(x, {weight, bias, mean, variance, inverse_deviation}),
                    "approxtrain::norm_relu: the fused norm does not take x ", x.sizes());
  return norm_relu(x, weight, bias, {mean, variance, inverse_deviation});
}

}  // namespace

TORCH_LIBRARY_FRAGMENT(approxtrain, library) {
  library.def(
      "norm_statistics(Tensor x, Tensor weight, Tensor bias, Tensor(a!) running_mean, "
      "Tensor(b!) running_variance, float momentum, float epsilon) -> Tensor[]",
      &layer_norm_statistics);
  library.def(
      "norm_relu(Tensor x, Tensor weight, Tensor bias, Tensor mean, Tensor variance, "
      "Tensor inverse_deviation) -> Tensor",
      &layer_norm_relu);
}

}  // namespace approx
