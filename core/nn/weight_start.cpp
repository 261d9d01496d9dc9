#include "core/nn/weight_start.h"

#include <torch/nn/init.h>

#include <cmath>
#include <utility>

#include "base/error.h"

namespace approx {
namespace {

thread_local WeightStart start_of_thread = WeightStart::kFanOut;

}  // namespace

WeightStartScope::WeightStartScope(WeightStart start)
    : before_(std::exchange(start_of_thread, start)) {}
WeightStartScope::~WeightStartScope() { start_of_thread = before_; }

void draw_uniform(const at::Tensor& target, const at::Tensor& weight) {
  const int64_t fan_in = weight.size(1) * weight.size(2) * weight.size(3);
  const double bound = 1 / std::sqrt(static_cast<double>(fan_in));
  torch::nn::init::uniform_(target, -bound, bound);
}

void start_convolution(const at::Tensor& weight, const at::Tensor& bias) {
  switch (start_of_thread) {
    case WeightStart::kFanOut:
      torch::nn::init::kaiming_normal_(weight, 0, torch::kFanOut, torch::kReLU);
      if (bias.defined()) torch::nn::init::zeros_(bias);
      return;
    case WeightStart::kPytorch:
      draw_uniform(weight, weight);
      if (bias.defined()) draw_uniform(bias, weight);
      return;
  }
  throw Error(ErrorKind::kInternal, "a start of weights without a formula");
}

}  // namespace approx
