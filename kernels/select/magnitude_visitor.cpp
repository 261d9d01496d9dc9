#include "kernels/select/magnitude_visitor.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <numeric>

#include "kernels/numbers_of.h"
#include "kernels/select/magnitude.h"
#include "kernels/select/pruned.h"

namespace approx {

void MagnitudeVisitor::begin(const at::Tensor& gradient, int64_t blocks) {
  sums_.assign(static_cast<size_t>(blocks), 0);
  count_ = gradient.numel();
  type_ = gradient.scalar_type();
  numbers_ = gradient.mutable_data_ptr();
  if (request_.tau.defined()) tau_ = *request_.tau.const_data_ptr<float>();
}

void MagnitudeVisitor::visit(int64_t block, int64_t first, int64_t last) {
  of_two_types(type_, [&]<typename Number>(Number) {
    auto* const numbers = static_cast<Number*>(numbers_);
    sums_[static_cast<size_t>(block)] = magnitude_simd(numbers + first, last - first);
    if (!request_.tau.defined()) return;
    const float tau = threshold_of<Number>(static_cast<float>(Number(tau_)));
    const StochasticArgs<Number> args{last, numbers, numbers, tau, request_.rng};
    kept_ += stochastic_simd(args, first, last);
  });
}

GradientLook MagnitudeVisitor::look(const at::Tensor& gradient) {
  const auto options = at::TensorOptions().device(gradient.device());
  on_device_ = {.mean = at::empty({}, options.dtype(at::kFloat)), .kept = {}};
  GradientLook look{.mean = on_device_.mean.mutable_data_ptr<float>()};
  if (!request_.tau.defined()) return look;
  auto& tau = request_.tau;
  tau = tau.to(gradient.device(), gradient.scalar_type()).to(at::kFloat);
  on_device_.kept = at::zeros({}, options.dtype(at::kLong));
  look.tau = tau.const_data_ptr<float>();
  look.kept = on_device_.kept.mutable_data_ptr<int64_t>();
  look.rng = request_.rng;
  return look;
}

SeenGradient MagnitudeVisitor::seen() const {
  if (on_device_.mean.defined()) return on_device_;
  const double sum = std::accumulate(sums_.begin(), sums_.end(), 0.0);
  const auto count = static_cast<double>(std::max<int64_t>(count_, 1));
  SeenGradient seen{.mean = at::scalar_tensor(sum / count, at::kFloat), .kept = {}};
  if (request_.tau.defined()) seen.kept = at::scalar_tensor(kept_.load(), at::kLong);
  return seen;
}

}  // namespace approx
