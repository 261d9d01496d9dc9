// Batch norms of tensors on a GPU: by the kernels of norm.cu, whose launches wait for nothing.
#include "kernels/norm/fused_norm_gpu.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>

#include "kernels/gpu/start.h"
#include "kernels/norm/norm_on_gpu.h"
#include "kernels/numbers_of.h"

namespace approx {
namespace {

int64_t pixels_of(const at::Tensor& x) { return x.numel() / x.size(1); }

at::Tensor like_channels(const at::Tensor& x) {
  return at::empty({x.size(1)}, at::TensorOptions().dtype(at::kFloat).device(x.device()));
}

// Room for what the blocks of a pass leave and join.
struct RoomForSums {
  explicit RoomForSums(const at::Tensor& x)
      : blocks(row_blocks(pixels_of(x))),
        partial(at::empty({blocks, 2, x.size(1)}, x.options().dtype(at::kFloat))),
        groups(at::empty({joined_groups(blocks), 2, x.size(1)}, x.options().dtype(at::kDouble))) {}

  JoinedRoom room() const {
    return {partial.mutable_data_ptr<float>(), groups.mutable_data_ptr<double>(), nullptr};
  }

  int64_t blocks;
  at::Tensor partial, groups;
};

float* out_of(const at::Tensor& tensor) { return tensor.mutable_data_ptr<float>(); }
const float* in_of(const at::Tensor& tensor) { return tensor.const_data_ptr<float>(); }

NormAffineOnGpu affine_of(const at::Tensor& weight, const at::Tensor& bias, const at::Tensor& mean,
                          const at::Tensor& inverse_deviation) {
  return {in_of(weight), in_of(bias), in_of(mean), in_of(inverse_deviation)};
}

template <typename Number>
NormStatistics statistics_of(const at::Tensor& x, double epsilon, const RunningStatistics* running,
                             double unbiasing) {
  NormStatistics result{like_channels(x), like_channels(x), like_channels(x)};
  const RoomForSums sums(x);
  MovedOnGpu moved;
  if (running != nullptr) {
    moved = {out_of(running->mean), out_of(running->variance), running->momentum, unbiasing};
  }
  start<NormStatisticsOnGpu<Number>>({.rows = pixels_of(x),
                                      .channels = x.size(1),
                                      .x = numbers_of<Number>(x),
                                      .epsilon = epsilon,
                                      .mean = out_of(result.mean),
                                      .variance = out_of(result.variance),
                                      .inverse_deviation = out_of(result.inverse_deviation),
                                      .moved = moved,
                                      .room = sums.room()},
                                     x.device());
  return result;
}

template <typename Number>
void write_forward(const at::Tensor& y, const at::Tensor& x, const NormAffineOnGpu& affine,
                   const ShapedTail& tail, const at::Tensor& residual) {
  const auto added =
      adds_residual(tail.kind) ? residual.contiguous(at::MemoryFormat::ChannelsLast) : at::Tensor();
  start<NormApplyOnGpu<Number>>({pixels_of(x),
                                 {.channels = x.size(1),
                                  .tail = tail.kind,
                                  .x = numbers_of<Number>(x),
                                  .residual = added.defined() ? numbers_of<Number>(added) : nullptr,
                                  .y = mutable_numbers_of<Number>(y),
                                  .alpha = tail.alpha},
                                 affine},
                                x.device());
}

template <typename Number>
void write_gradients(NormGradients& result, const at::Tensor& gradient, const at::Tensor& forward,
                     const at::Tensor& x, const at::Tensor& weight, const at::Tensor& mean,
                     const at::Tensor& inverse_deviation, const NormAffineOnGpu& affine,
                     const ShapedTail& tail, GradientVisitor* visitor,
                     const MeanOfParts& mean_of_parts) {
  const auto dy = gradient.contiguous(at::MemoryFormat::ChannelsLast);
  result.dweight = like_channels(x);
  result.dbias = like_channels(x);
  const bool adds = adds_residual(tail.kind);
  const auto kept = adds ? forward.contiguous(at::MemoryFormat::ChannelsLast) : at::Tensor();
  const RoomForSums room(x);
  const auto sums =
      mean_of_parts ? at::empty({2, x.size(1)}, x.options().dtype(at::kDouble)) : at::Tensor();
  auto a = like_channels(x), b = like_channels(x), d = like_channels(x);
  start<NormSumsOnGpu<Number>>(
      {.rows = pixels_of(x),
       .pass = {.channels = x.size(1),
                .tail = tail.kind,
                .dy = numbers_of<Number>(dy),
                .x = numbers_of<Number>(x),
                .y = tail.kind == NormTail::kAddRelu ? numbers_of<Number>(kept) : nullptr,
                .residual = tail.kind == NormTail::kAddGelu ? numbers_of<Number>(kept) : nullptr,
                .dresidual = adds ? mutable_numbers_of<Number>(result.dresidual) : nullptr,
                .alpha = tail.alpha},
       .affine = affine,
       .dweight = out_of(result.dweight),
       .dbias = out_of(result.dbias),
       .a = out_of(a),
       .b = out_of(b),
       .d = out_of(d),
       .sums = mean_of_parts ? sums.mutable_data_ptr<double>() : nullptr,
       .room = room.room()},
      x.device());
  if (mean_of_parts) {
    mean_of_parts(sums);
    const auto factors = norm_gradient_factors(sums, pixels_of(x), weight, mean, inverse_deviation);
    a = factors.a;
    b = factors.b;
    d = factors.d;
  }
  const auto magnitudes =
      visitor == nullptr ? at::Tensor()
                         : at::empty({most_norm_blocks(pixels_of(x), x.size(1))},
                                     at::TensorOptions().dtype(at::kDouble).device(x.device()));
  start<NormGradientOnGpu<Number>>(
      {pixels_of(x),
       {.channels = x.size(1),
        .relu = tail.kind == NormTail::kRelu,
        .dy = adds ? numbers_of<Number>(result.dresidual) : numbers_of<Number>(dy),
        .x = numbers_of<Number>(x),
        .a = in_of(a),
        .b = in_of(b),
        .d = in_of(d),
        .dx = mutable_numbers_of<Number>(result.dx),
        .smooth = smooth_without_residual(tail.kind),
        .alpha = tail.alpha},
       affine,
       visitor == nullptr ? GradientLook() : visitor->look(result.dx),
       visitor == nullptr ? nullptr : magnitudes.mutable_data_ptr<double>()},
      x.device());
}

}  // namespace

NormGradientFactors norm_gradient_factors(const at::Tensor& sums, int64_t count,
                                          const at::Tensor& weight, const at::Tensor& mean,
                                          const at::Tensor& inverse_deviation) {
  const auto inverse = inverse_deviation.to(at::kDouble);
  const auto sum = sums.select(0, 0) / static_cast<double>(count),
             product = sums.select(0, 1) / static_cast<double>(count);
  const auto of_g = weight.detach().to(at::kDouble) * inverse;
  const auto of_x = -of_g * inverse * inverse * product;
  return {of_g.to(at::kFloat), of_x.to(at::kFloat),
          (-of_g * sum - of_x * mean.to(at::kDouble)).to(at::kFloat)};
}

bool has_norm_on_gpu(const at::Tensor& x) {
  if (x.dim() < 2 || x.size(1) > kMostNormChannels) return false;
  bool has = false;
  of_three_types(x.scalar_type(), [&]<typename Number>(Number) {
    has = can_start<NormStatisticsOnGpu<Number>>(x.device());
  });
  return has;
}

NormStatistics norm_statistics_on_gpu(const at::Tensor& x, double epsilon,
                                      const RunningStatistics* running, double unbiasing) {
  NormStatistics result;
  of_three_types(x.scalar_type(), [&]<typename Number>(Number) {
    result = statistics_of<Number>(x, epsilon, running, unbiasing);
  });
  return result;
}

void norm_forward_on_gpu(const at::Tensor& y, const at::Tensor& x, const at::Tensor& weight,
                         const at::Tensor& bias, const at::Tensor& mean,
                         const at::Tensor& inverse_deviation, const ShapedTail& tail,
                         const at::Tensor& residual) {
  const auto affine = affine_of(weight, bias, mean, inverse_deviation);
  of_three_types(x.scalar_type(), [&]<typename Number>(Number) {
    write_forward<Number>(y, x, affine, tail, residual);
  });
}

void norm_backward_on_gpu(NormGradients& into, const at::Tensor& dy, const at::Tensor& kept,
                          const at::Tensor& x, const at::Tensor& weight, const at::Tensor& bias,
                          const at::Tensor& mean, const at::Tensor& inverse_deviation,
                          const ShapedTail& tail, GradientVisitor* visitor,
                          const MeanOfParts& mean_of_parts) {
  const auto affine = affine_of(weight, bias, mean, inverse_deviation);
  of_three_types(x.scalar_type(), [&]<typename Number>(Number) {
    write_gradients<Number>(into, dy, kept, x, weight, mean, inverse_deviation, affine, tail,
                            visitor, mean_of_parts);
  });
}

}  // namespace approx
