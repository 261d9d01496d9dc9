#include "kernels/norm/fused_norm.h"

#include <ATen/Parallel.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "kernels/norm/fused_norm_gpu.h"
#include "kernels/numbers_of.h"

namespace approx {
namespace {

// x [N,C,H,W] as rows of fold * C numbers, cut into blocks that threads share. The cut depends on
// the shape alone, and so do the sums.
class Rows {
 public:
  explicit Rows(const at::Tensor& x) : channels_(x.size(1)), rows_(x.numel() / channels_) {
    constexpr int64_t kWide = 64;  // numbers in a row that keep vectors of any width busy
    while (width() < kWide && rows_ % 2 == 0) {
      fold_ *= 2;
      rows_ /= 2;
    }
    constexpr int64_t kBlockNumbers = int64_t{16} * 1024;
    block_ = std::max<int64_t>(4, kBlockNumbers / width() / 4 * 4);
  }

  int64_t width() const { return fold_ * channels_; }
  int64_t count() const { return rows_ * fold_; }  // pixels
  int64_t blocks() const { return (rows_ + block_ - 1) / block_; }

  // [C] -> [fold * C]
  std::vector<float> repeated(const std::vector<float>& per_channel) const {
    std::vector<float> wide;
    wide.reserve(static_cast<size_t>(width()));
    for (int64_t f = 0; f < fold_; ++f) {
      wide.insert(wide.end(), per_channel.begin(), per_channel.end());
    }
    return wide;
  }

  template <typename Body>
  void for_blocks(Body body) const {
    at::parallel_for(0, blocks(), 1, [&](int64_t first, int64_t last) {
      for (int64_t i = first; i < last; ++i) {
        body(i, i * block_, std::min((i + 1) * block_, rows_));
      }
    });
  }

  // Two sums per channel over all rows. `body(begin, end, first, second)` overwrites the partial
  // sums of its rows.
  template <typename Body>
  std::pair<std::vector<double>, std::vector<double>> sums(Body body) const {
    const auto wide = static_cast<size_t>(width()), channels = static_cast<size_t>(channels_);
    const auto count = static_cast<size_t>(blocks());
    std::vector<float> partial(count * 2 * wide);
    for_blocks([&](int64_t i, int64_t begin, int64_t end) {
      float* first = partial.data() + static_cast<size_t>(i) * 2 * wide;
      body(begin, end, first, first + wide);
    });
    std::pair<std::vector<double>, std::vector<double>> total{std::vector<double>(channels),
                                                              std::vector<double>(channels)};
    for (size_t i = 0; i < count; ++i) {
      const float* first = partial.data() + i * 2 * wide;
      for (size_t c = 0; c < wide; ++c) {
        total.first[c % channels] += first[c];
        total.second[c % channels] += first[wide + c];
      }
    }
    return total;
  }

 private:
  int64_t channels_, rows_, fold_ = 1, block_ = 1;
};

std::vector<float> to_vector(const at::Tensor& per_channel) {
  const float* data = per_channel.const_data_ptr<float>();
  return {data, data + per_channel.numel()};
}

// The variant of that name; empty: the one of least rank. Throws Error(kUsage) for an unknown one.
const NormVariant& variant_of(std::string_view name) {
  const auto& registry = Registry<NormVariant>::instance();
  if (!name.empty()) return registry.find(name);
  const NormVariant* best = nullptr;
  for (const auto& candidate : registry.entries()) {
    if (candidate.is_definition) continue;
    if (best == nullptr || candidate.order < best->order) best = &candidate;
  }
  return *best;
}

at::Tensor in_channels_last(const at::Tensor& tensor) {
  return tensor.contiguous(at::MemoryFormat::ChannelsLast);
}

}  // namespace

bool fused_norm_fits(const at::Tensor& x) {
  const auto type = x.scalar_type();
  const bool computed =
      x.is_cpu() ? type == at::kFloat || type == at::kBFloat16 : has_norm_on_gpu(x);
  return computed && x.dim() == 4 && x.numel() > 0 &&
         x.is_contiguous(at::MemoryFormat::ChannelsLast);
}

NormStatistics norm_statistics(const at::Tensor& x, double epsilon, std::string_view variant) {
  if (x.is_cuda()) return norm_statistics_on_gpu(x, epsilon, nullptr, 1);
  const Rows rows(x);
  const int64_t channels = x.size(1);
  std::vector<float> first;
  std::pair<std::vector<double>, std::vector<double>> sums;
  of_two_types(x.scalar_type(), [&]<typename Number>(Number) {
    const auto& passes = variant_of(variant).passes<Number>();
    NormMoments<Number> args{.channels = rows.width(), .x = numbers_of<Number>(x)};
    // The first pixel: of the data's own size, which is all that a shift needs.
    for (int64_t c = 0; c < channels; ++c) first.push_back(static_cast<float>(args.x[c]));
    const auto shift = rows.repeated(first);
    args.shift = shift.data();
    sums = rows.sums([&](int64_t begin, int64_t end, float* s, float* q) {
      passes.moments(args, begin, end, s, q);
    });
  });

  const auto options = at::TensorOptions().dtype(at::kFloat);
  NormStatistics result{at::empty({channels}, options), at::empty({channels}, options),
                        at::empty({channels}, options)};
  auto* mean = result.mean.mutable_data_ptr<float>();
  auto* variance = result.variance.mutable_data_ptr<float>();
  auto* inverse = result.inverse_deviation.mutable_data_ptr<float>();
  const auto count = static_cast<double>(rows.count());
  for (int64_t c = 0; c < channels; ++c) {
    const auto i = static_cast<size_t>(c);
    const double shifted = sums.first[i] / count;
    // Rounding may leave a constant channel slightly below zero; std::max would swallow a NaN.
    double v = sums.second[i] / count - shifted * shifted;
    if (v < 0) v = 0;
    mean[c] = static_cast<float>(first[i] + shifted);
    variance[c] = static_cast<float>(v);
    inverse[c] = static_cast<float>(1 / std::sqrt(v + epsilon));
  }
  return result;
}

void move_running(const RunningStatistics& running, const at::Tensor& mean,
                  const at::Tensor& variance, double unbiasing) {
  const auto move = [&](const at::Tensor& to, const at::Tensor& now, double factor) {
    if (!now.is_cpu()) {
      to.mul_(1 - running.momentum).add_(now, running.momentum * factor);
      return;
    }
    auto* moved = to.mutable_data_ptr<float>();
    const auto* from = now.const_data_ptr<float>();
    for (int64_t c = 0; c < now.numel(); ++c) {
      moved[c] = static_cast<float>((1 - running.momentum) * moved[c] +
                                    running.momentum * factor * from[c]);
    }
  };
  move(running.mean, mean, 1);
  move(running.variance, variance, unbiasing);
}

NormStatistics norm_statistics_moving(const at::Tensor& x, double epsilon,
                                      const RunningStatistics& running, double unbiasing) {
  if (x.is_cuda()) return norm_statistics_on_gpu(x, epsilon, &running, unbiasing);
  auto result = norm_statistics(x, epsilon);
  move_running(running, result.mean, result.variance, unbiasing);
  return result;
}

namespace {

// scale * x + offset = weight * (x - mean) * inverse_deviation + bias, repeated for wide rows.
struct Affine {
  Affine(const Rows& rows, const at::Tensor& weight, const at::Tensor& bias, const at::Tensor& mean,
         const at::Tensor& inverse_deviation)
      : scale(to_vector(weight)), offset(to_vector(bias)) {
    const auto m = to_vector(mean), inverse = to_vector(inverse_deviation);
    for (size_t c = 0; c < m.size(); ++c) {
      scale[c] *= inverse[c];
      offset[c] -= scale[c] * m[c];
    }
    scale = rows.repeated(scale);
    offset = rows.repeated(offset);
  }

  std::vector<float> scale, offset;
};

template <typename Number>
void write_forward(const at::Tensor& y, const at::Tensor& x, const Rows& rows, const Affine& affine,
                   const ShapedTail& tail, const at::Tensor& residual, std::string_view variant) {
  const auto& passes = variant_of(variant).passes<Number>();
  const auto added = adds_residual(tail.kind) ? in_channels_last(residual) : at::Tensor();
  const NormApply<Number> args{.channels = rows.width(),
                               .tail = tail.kind,
                               .x = numbers_of<Number>(x),
                               .scale = affine.scale.data(),
                               .offset = affine.offset.data(),
                               .residual = added.defined() ? numbers_of<Number>(added) : nullptr,
                               .y = mutable_numbers_of<Number>(y),
                               .alpha = tail.alpha};
  rows.for_blocks([&](int64_t, int64_t begin, int64_t end) { passes.apply(args, begin, end); });
}

void take_means(const MeanOfParts& mean_of_parts, std::vector<double>& sum,
                std::vector<double>& product) {
  const auto channels = static_cast<int64_t>(sum.size());
  const auto sums = at::empty({2, channels}, at::kDouble);
  auto* both = sums.mutable_data_ptr<double>();
  std::copy(product.begin(), product.end(), std::copy(sum.begin(), sum.end(), both));
  mean_of_parts(sums);
  sum.assign(both, both + channels);
  product.assign(both + channels, both + 2 * channels);
}

template <typename Number>
void write_gradients(NormGradients& result, const at::Tensor& gradient, const at::Tensor& forward,
                     const at::Tensor& x, const at::Tensor& weight, const at::Tensor& mean,
                     const at::Tensor& inverse_deviation, const Rows& rows, const Affine& affine,
                     const ShapedTail& tail, GradientVisitor* visitor, std::string_view variant,
                     const MeanOfParts& mean_of_parts) {
  const auto& passes = variant_of(variant).passes<Number>();
  const bool adds = adds_residual(tail.kind);
  const auto dy = in_channels_last(gradient);
  const auto kept = adds ? in_channels_last(forward) : at::Tensor();
  const auto m = to_vector(mean), inverse = to_vector(inverse_deviation), w = to_vector(weight);
  const auto wide_mean = rows.repeated(m);

  const NormSums<Number> sums{
      .channels = rows.width(),
      .tail = tail.kind,
      .dy = numbers_of<Number>(dy),
      .x = numbers_of<Number>(x),
      .y = tail.kind == NormTail::kAddRelu ? numbers_of<Number>(kept) : nullptr,
      .residual = tail.kind == NormTail::kAddGelu ? numbers_of<Number>(kept) : nullptr,
      .scale = affine.scale.data(),
      .offset = affine.offset.data(),
      .mean = wide_mean.data(),
      .dresidual = adds ? mutable_numbers_of<Number>(result.dresidual) : nullptr,
      .alpha = tail.alpha};
  auto [sum, product] = rows.sums(
      [&](int64_t begin, int64_t end, float* s, float* q) { passes.sums(sums, begin, end, s, q); });

  // dx = w inv (g - sum / M - (x - mean) inv^2 product / M), gathered by what it multiplies.
  result.dweight = at::empty_like(weight);
  result.dbias = at::empty_like(weight);
  auto* dweight = result.dweight.mutable_data_ptr<float>();
  auto* dbias = result.dbias.mutable_data_ptr<float>();
  const auto count = static_cast<double>(rows.count());
  for (size_t c = 0; c < m.size(); ++c) {
    dweight[c] = static_cast<float>(product[c] * inverse[c]);
    dbias[c] = static_cast<float>(sum[c]);
  }
  if (mean_of_parts) take_means(mean_of_parts, sum, product);
  std::vector<float> a(m.size()), b(m.size()), d(m.size());
  for (size_t c = 0; c < m.size(); ++c) {
    const double of_g = double{w[c]} * inverse[c];
    const double of_x = -of_g * inverse[c] * inverse[c] * product[c] / count;
    a[c] = static_cast<float>(of_g);
    b[c] = static_cast<float>(of_x);
    d[c] = static_cast<float>(-of_g * sum[c] / count - of_x * m[c]);
  }
  a = rows.repeated(a);
  b = rows.repeated(b);
  d = rows.repeated(d);

  const NormGradient<Number> args{.channels = rows.width(),
                                  .relu = tail.kind == NormTail::kRelu,
                                  .dy = adds ? numbers_of<Number>(result.dresidual) : sums.dy,
                                  .x = sums.x,
                                  .scale = sums.scale,
                                  .offset = sums.offset,
                                  .a = a.data(),
                                  .b = b.data(),
                                  .d = d.data(),
                                  .dx = mutable_numbers_of<Number>(result.dx),
                                  .smooth = smooth_without_residual(tail.kind),
                                  .alpha = tail.alpha};
  if (visitor != nullptr) visitor->begin(result.dx, rows.blocks());
  rows.for_blocks([&](int64_t block, int64_t begin, int64_t end) {
    passes.gradient(args, begin, end);
    if (visitor != nullptr) visitor->visit(block, begin * rows.width(), end * rows.width());
  });
}

}  // namespace

at::Tensor norm_forward(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& bias,
                        const at::Tensor& mean, const at::Tensor& inverse_deviation,
                        const ShapedTail& tail, const at::Tensor& residual,
                        std::string_view variant) {
  auto y = at::empty_like(x);
  norm_forward_into(y, x, weight, bias, mean, inverse_deviation, tail, residual, variant);
  return y;
}

void norm_forward_into(const at::Tensor& y, const at::Tensor& x, const at::Tensor& weight,
                       const at::Tensor& bias, const at::Tensor& mean,
                       const at::Tensor& inverse_deviation, const ShapedTail& tail,
                       const at::Tensor& residual, std::string_view variant) {
  if (x.is_cuda()) {
    norm_forward_on_gpu(y, x, weight, bias, mean, inverse_deviation, tail, residual);
    return;
  }
  const Rows rows(x);
  const Affine affine(rows, weight, bias, mean, inverse_deviation);
  of_two_types(x.scalar_type(), [&]<typename Number>(Number) {
    write_forward<Number>(y, x, rows, affine, tail, residual, variant);
  });
}

NormGradients norm_backward(const at::Tensor& dy, const at::Tensor& kept, const at::Tensor& x,
                            const at::Tensor& weight, const at::Tensor& bias,
                            const at::Tensor& mean, const at::Tensor& inverse_deviation,
                            const ShapedTail& tail, GradientVisitor* visitor,
                            std::string_view variant, const MeanOfParts& mean_of_parts) {
  NormGradients result;
  result.dx = at::empty_like(x);
  if (adds_residual(tail.kind)) result.dresidual = at::empty_like(x);
  norm_backward_into(result, dy, kept, x, weight, bias, mean, inverse_deviation, tail, visitor,
                     variant, mean_of_parts);
  return result;
}

void norm_backward_into(NormGradients& into, const at::Tensor& dy, const at::Tensor& kept,
                        const at::Tensor& x, const at::Tensor& weight, const at::Tensor& bias,
                        const at::Tensor& mean, const at::Tensor& inverse_deviation,
                        const ShapedTail& tail, GradientVisitor* visitor, std::string_view variant,
                        const MeanOfParts& mean_of_parts) {
  if (x.is_cuda()) {
    norm_backward_on_gpu(into, dy, kept, x, weight, bias, mean, inverse_deviation, tail, visitor,
                         mean_of_parts);
    return;
  }
  const Rows rows(x);
  const Affine affine(rows, weight, bias, mean, inverse_deviation);
  of_two_types(x.scalar_type(), [&]<typename Number>(Number) {
    write_gradients<Number>(into, dy, kept, x, weight, mean, inverse_deviation, rows, affine, tail,
                            visitor, variant, mean_of_parts);
  });
}

}  // namespace approx
