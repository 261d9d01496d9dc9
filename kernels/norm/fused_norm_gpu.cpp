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

// scale * x + offset = weight * (x - mean) * inverse_deviation + bias, [C] each.
struct AffineOnGpu {
  AffineOnGpu(const at::Tensor& weight, const at::Tensor& bias, const at::Tensor& mean,
              const at::Tensor& inverse_deviation)
      : scale(weight.detach() * inverse_deviation), offset(bias.detach() - scale * mean) {}

  at::Tensor scale, offset;
};

int64_t pixels_of(const at::Tensor& x) { return x.numel() / x.size(1); }

at::Tensor like_channels(const at::Tensor& x) {
  return at::empty({x.size(1)}, at::TensorOptions().dtype(at::kFloat).device(x.device()));
}

at::Tensor room_for_sums(const at::Tensor& x) {
  return at::empty({row_blocks(pixels_of(x)), 2, x.size(1)},
                   at::TensorOptions().dtype(at::kFloat).device(x.device()));
}

float* out_of(const at::Tensor& tensor) { return tensor.mutable_data_ptr<float>(); }
const float* in_of(const at::Tensor& tensor) { return tensor.const_data_ptr<float>(); }

template <typename Number>
NormStatistics statistics_of(const at::Tensor& x, double epsilon) {
  NormStatistics result{like_channels(x), like_channels(x), like_channels(x)};
  const auto partial = room_for_sums(x);
  start<NormStatisticsOnGpu<Number>>(
      {pixels_of(x), x.size(1), numbers_of<Number>(x), epsilon, out_of(partial),
       out_of(result.mean), out_of(result.variance), out_of(result.inverse_deviation)},
      x.device());
  return result;
}

template <typename Number>
void write_forward(const at::Tensor& y, const at::Tensor& x, const AffineOnGpu& affine,
                   const ShapedTail& tail, const at::Tensor& residual) {
  const auto added =
      adds_residual(tail.kind) ? residual.contiguous(at::MemoryFormat::ChannelsLast) : at::Tensor();
  start<NormApplyOnGpu<Number>>({pixels_of(x),
                                 {.channels = x.size(1),
                                  .tail = tail.kind,
                                  .x = numbers_of<Number>(x),
                                  .scale = in_of(affine.scale),
                                  .offset = in_of(affine.offset),
                                  .residual = added.defined() ? numbers_of<Number>(added) : nullptr,
                                  .y = mutable_numbers_of<Number>(y),
                                  .alpha = tail.alpha}},
                                x.device());
}

template <typename Number>
void write_gradients(NormGradients& result, const at::Tensor& gradient, const at::Tensor& forward,
                     const at::Tensor& x, const at::Tensor& weight, const at::Tensor& mean,
                     const at::Tensor& inverse_deviation, const AffineOnGpu& affine,
                     const ShapedTail& tail, GradientVisitor* visitor,
                     const MeanOfParts& mean_of_parts) {
  const auto dy = gradient.contiguous(at::MemoryFormat::ChannelsLast);
  result.dweight = like_channels(x);
  result.dbias = like_channels(x);
  const bool adds = adds_residual(tail.kind);
  const auto kept = adds ? forward.contiguous(at::MemoryFormat::ChannelsLast) : at::Tensor();
  const auto partial = room_for_sums(x);
  auto a = like_channels(x), b = like_channels(x), d = like_channels(x);
  start<NormSumsOnGpu<Number>>(
      {.rows = pixels_of(x),
       .pass = {.channels = x.size(1),
                .tail = tail.kind,
                .dy = numbers_of<Number>(dy),
                .x = numbers_of<Number>(x),
                .y = tail.kind == NormTail::kAddRelu ? numbers_of<Number>(kept) : nullptr,
                .residual = tail.kind == NormTail::kAddGelu ? numbers_of<Number>(kept) : nullptr,
                .scale = in_of(affine.scale),
                .offset = in_of(affine.offset),
                .mean = in_of(mean),
                .dresidual = adds ? mutable_numbers_of<Number>(result.dresidual) : nullptr,
                .alpha = tail.alpha},
       .weight = in_of(weight),
       .inverse_deviation = in_of(inverse_deviation),
       .partial = out_of(partial),
       .dweight = out_of(result.dweight),
       .dbias = out_of(result.dbias),
       .a = out_of(a),
       .b = out_of(b),
       .d = out_of(d)},
      x.device());
  if (mean_of_parts) {
    const auto sums = partial.sum(0, /*keepdim=*/false, at::kDouble);
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
        .scale = in_of(affine.scale),
        .offset = in_of(affine.offset),
        .a = in_of(a),
        .b = in_of(b),
        .d = in_of(d),
        .dx = mutable_numbers_of<Number>(result.dx),
        .smooth = smooth_without_residual(tail.kind),
        .alpha = tail.alpha},
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
  bool has = false;
  of_three_types(x.scalar_type(), [&]<typename Number>(Number) {
    has = can_start<NormStatisticsOnGpu<Number>>(x.device());
  });
  return has;
}

NormStatistics norm_statistics_on_gpu(const at::Tensor& x, double epsilon) {
  NormStatistics result;
  of_three_types(x.scalar_type(),
                 [&]<typename Number>(Number) { result = statistics_of<Number>(x, epsilon); });
  return result;
}

void norm_forward_on_gpu(const at::Tensor& y, const at::Tensor& x, const at::Tensor& weight,
                         const at::Tensor& bias, const at::Tensor& mean,
                         const at::Tensor& inverse_deviation, const ShapedTail& tail,
                         const at::Tensor& residual) {
  const AffineOnGpu affine(weight, bias, mean, inverse_deviation);
  of_three_types(x.scalar_type(), [&]<typename Number>(Number) {
    write_forward<Number>(y, x, affine, tail, residual);
  });
}

void norm_backward_on_gpu(NormGradients& into, const at::Tensor& dy, const at::Tensor& kept,
                          const at::Tensor& x, const at::Tensor& weight, const at::Tensor& bias,
                          const at::Tensor& mean, const at::Tensor& inverse_deviation,
                          const ShapedTail& tail, GradientVisitor* visitor,
                          const MeanOfParts& mean_of_parts) {
  const AffineOnGpu affine(weight, bias, mean, inverse_deviation);
  of_three_types(x.scalar_type(), [&]<typename Number>(Number) {
    write_gradients<Number>(into, dy, kept, x, weight, mean, inverse_deviation, affine, tail,
                            visitor, mean_of_parts);
  });
}

}  // namespace approx
