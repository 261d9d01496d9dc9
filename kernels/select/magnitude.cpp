#include "kernels/select/magnitude.h"

#include <ATen/Parallel.h>
#include <ATen/TensorOperators.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/linalg_vector_norm.h>
#include <ATen/ops/ones_like.h>
#include <ATen/ops/where.h>

#include "kernels/gpu/start.h"
#include "kernels/select/select.h"

namespace approx {

at::Tensor plane_magnitude(const at::Tensor& dy, Choosing how) {
  if (how != Choosing::kTensors && loops_as_floats(dy)) {
    return plane_magnitude(dy.to(at::kFloat), how);
  }
  if (how == Choosing::kTensors || !dy.is_cpu() || dy.scalar_type() != at::kFloat) {
    const auto type = dy.scalar_type() == at::kDouble ? at::kDouble : at::kFloat;
    return at::linalg_vector_norm(dy, 1, at::IntArrayRef{2, 3}, /*keepdim=*/true, type);
  }
  const auto source = dy.contiguous(at::MemoryFormat::ChannelsLast);
  auto sum = at::empty({dy.size(0), dy.size(1), 1, 1},
                       source.options().memory_format(at::MemoryFormat::Contiguous));
  const MagnitudeArgs args{dy.size(0), dy.size(2) * dy.size(3), dy.size(1),
                           source.const_data_ptr<float>(), sum.mutable_data_ptr<float>()};
  const auto loop = how == Choosing::kFastest ? plane_magnitude_simd : plane_magnitude_reference;
  at::parallel_for(0, args.n, 1, [&](int64_t begin, int64_t end) { loop(args, begin, end); });
  return sum;
}

at::Tensor mean_magnitude(const at::Tensor& dy) {
  if (can_start<MeanMagnitudeArgs>(dy.device()) && dy.scalar_type() == at::kFloat &&
      (dy.is_contiguous() || dy.is_contiguous(at::MemoryFormat::ChannelsLast))) {
    const auto options = dy.options().memory_format(c10::nullopt);
    const auto partial = at::empty({MeanMagnitudeArgs::kPartials}, options.dtype(at::kDouble));
    auto mean = at::empty({}, options);
    start<MeanMagnitudeArgs>({dy.numel(), dy.const_data_ptr<float>(),
                              partial.mutable_data_ptr<double>(), mean.mutable_data_ptr<float>()},
                             dy.device());
    return mean;
  }
  return plane_magnitude(dy).sum().to(at::kFloat) / static_cast<double>(dy.numel());
}

at::Tensor rescaling_factor(const at::Tensor& all, const at::Tensor& left) {
  return at::where(left > 0, all / left, at::ones_like(left));
}

}  // namespace approx
