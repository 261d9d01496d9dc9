#include "kernels/select/magnitude.h"

#include <ATen/Parallel.h>
#include <ATen/TensorOperators.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/linalg_vector_norm.h>
#include <ATen/ops/masked_fill.h>
#include <ATen/ops/scalar_tensor.h>

#include <cmath>
#include <limits>
#include <numeric>

#include "kernels/gpu/start.h"
#include "kernels/numbers_of.h"
#include "kernels/select/select.h"

namespace approx {

namespace {

constexpr double kDown = 0x1p-64;  // what numbers are multiplied by whose sum no float can be

// [N,C,1,1] float on the CPU; infinite where a sum is beyond the range of float.
at::Tensor magnitude_by_loops(const at::Tensor& dy, Choosing how) {
  const auto source = dy.contiguous(at::MemoryFormat::ChannelsLast);
  auto sum =
      at::empty({dy.size(0), dy.size(1), 1, 1},
                source.options().dtype(at::kFloat).memory_format(at::MemoryFormat::Contiguous));
  of_two_types(dy.scalar_type(), [&]<typename Number>(Number) {
    const MagnitudeArgs<Number> args{dy.size(0), dy.size(2) * dy.size(3), dy.size(1),
                                     numbers_of<Number>(source), sum.mutable_data_ptr<float>()};
    at::parallel_for(0, args.n, 1, [&](int64_t begin, int64_t end) {
      how == Choosing::kFastest ? plane_magnitude_simd(args, begin, end)
                                : plane_magnitude_reference(args, begin, end);
    });
  });
  return sum;
}

// In one order, whatever the number of threads, which share LibTorch's sums.
double added_up(const at::Tensor& sums) {
  const auto* first = sums.const_data_ptr<float>();
  return std::accumulate(first, first + sums.numel(), 0.0);
}

// plane_magnitude by a GPU's kernel; undefined where there is none for such numbers.
at::Tensor magnitude_by_launch(const at::Tensor& dy) {
  at::Tensor sum;
  of_three_types(dy.scalar_type(), [&]<typename Number>(Number) {
    if (dy.numel() == 0 || !can_start<PlaneMagnitudesOnGpu<Number>>(dy.device())) return;
    const auto source = dy.contiguous(at::MemoryFormat::ChannelsLast);
    sum = at::empty({dy.size(0), dy.size(1), 1, 1},
                    at::TensorOptions().device(dy.device()).dtype(at::kDouble));
    start<PlaneMagnitudesOnGpu<Number>>(
        {dy.size(0), dy.size(2) * dy.size(3), dy.size(1), numbers_of<Number>(source),
         sum.mutable_data_ptr<double>()},
        dy.device());
  });
  return sum;
}

// mean_magnitude by a GPU's kernel; undefined where there is none for such numbers.
at::Tensor mean_by_launch(const at::Tensor& dy) {
  at::Tensor mean;
  of_three_types(dy.scalar_type(), [&]<typename Number>(Number) {
    if (!can_start<MeanMagnitudeArgs<Number>>(dy.device())) return;
    const auto options = dy.options().memory_format(c10::nullopt);
    const auto partial = at::empty({kMostPartials}, options.dtype(at::kDouble));
    mean = at::empty({}, options.dtype(at::kFloat));
    start<MeanMagnitudeArgs<Number>>(
        {dy.numel(), numbers_of<Number>(dy), partial.mutable_data_ptr<double>(),
         mean.mutable_data_ptr<float>()},
        dy.device());
  });
  return mean;
}

}  // namespace

at::Tensor plane_magnitude(const at::Tensor& dy, Choosing how) {
  if (how == Choosing::kFastest && !dy.is_cpu()) {
    if (auto sum = magnitude_by_launch(dy); sum.defined()) return sum;
  }
  if (how == Choosing::kTensors || !loops(dy)) {
    return at::linalg_vector_norm(dy, 1, at::IntArrayRef{2, 3}, /*keepdim=*/true, at::kDouble);
  }
  const auto sum = magnitude_by_loops(dy, how);
  if (std::isfinite(added_up(sum))) return sum.to(at::kDouble);
  return magnitude_by_loops(dy * kDown, how).to(at::kDouble) / kDown;
}

at::Tensor mean_magnitude(const at::Tensor& dy) {
  if (dy.is_contiguous() || dy.is_contiguous(at::MemoryFormat::ChannelsLast)) {
    if (auto mean = mean_by_launch(dy); mean.defined()) return mean;
  }
  const auto numbers = static_cast<double>(dy.numel());
  if (loops(dy)) {
    double sum = added_up(magnitude_by_loops(dy, Choosing::kFastest));
    if (!std::isfinite(sum)) {
      sum = added_up(magnitude_by_loops(dy * kDown, Choosing::kFastest)) / kDown;
    }
    return at::scalar_tensor(sum / numbers, at::kFloat);
  }
  const auto mean = plane_magnitude(dy).sum() / numbers;
  return dy.scalar_type() == at::kDouble ? mean : mean.to(at::kFloat);
}

at::Tensor rescaling_factor(const at::Tensor& all, const at::Tensor& left) {
  const auto ratio = all / left;
  const auto is_one =
      (left > 0).logical_not_().logical_or_(ratio > std::numeric_limits<float>::max());
  return ratio.masked_fill(is_one, 1);
}

void rescale(at::Tensor& pruned, const at::Tensor& all, const at::Tensor& left) {
  const auto type = pruned.scalar_type() == at::kDouble ? at::kDouble : at::kFloat;
  pruned.mul_(rescaling_factor(all, left).to(type));
}

}  // namespace approx
