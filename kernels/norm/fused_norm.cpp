#include "kernels/norm/fused_norm.h"

#include <ATen/Parallel.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "kernels/norm/fused_norm_gpu.h"

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
const NormPasses& passes_of(std::string_view variant) {
  const auto& registry = Registry<NormVariant>::instance();
  if (!variant.empty()) return registry.find(variant).passes;
  const NormVariant* best = nullptr;
  for (const auto& candidate : registry.entries()) {
    if (candidate.is_definition) continue;
    if (best == nullptr || candidate.order < best->order) best = &candidate;
  }
  return best->passes;
}

at::Tensor in_channels_last(const at::Tensor& tensor) {
  return tensor.contiguous(at::MemoryFormat::ChannelsLast);
}

}  // namespace

bool fused_norm_fits(const at::Tensor& x) {
  return (x.is_cpu() || has_norm_on_gpu(x)) && x.scalar_type() == at::kFloat && x.dim() == 4 &&
         x.numel() > 0 && x.is_contiguous(at::MemoryFormat::ChannelsLast);
}

NormStatistics norm_statistics(const at::Tensor& x, double epsilon, std::string_view variant) {
  if (x.is_cuda()) return norm_statistics_on_gpu(x, epsilon);
  const NormPasses& passes = passes_of(variant);
  const Rows rows(x);
  const int64_t channels = x.size(1);
  NormMoments args;
  args.channels = rows.width();
  args.x = x.const_data_ptr<float>();
  // The first pixel: of the data's own size, which is all that a shift needs.
  const std::vector<float> first(args.x, args.x + channels);
  const auto shift = rows.repeated(first);
  args.shift = shift.data();
  const auto [sum, square] = rows.sums([&](int64_t begin, int64_t end, float* s, float* q) {
    passes.moments(args, begin, end, s, q);
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
    const double shifted = sum[i] / count;
    // Rounding may leave a constant channel slightly below zero; std::max would swallow a NaN.
    double v = square[i] / count - shifted * shifted;
    if (v < 0) v = 0;
    mean[c] = static_cast<float>(first[i] + shifted);
    variance[c] = static_cast<float>(v);
    inverse[c] = static_cast<float>(1 / std::sqrt(v + epsilon));
  }
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

}  // namespace

at::Tensor norm_forward(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& bias,
                        const at::Tensor& mean, const at::Tensor& inverse_deviation, NormTail tail,
                        const at::Tensor& residual, std::string_view variant) {
  if (x.is_cuda()) {
    return norm_forward_on_gpu(x, weight, bias, mean, inverse_deviation, tail, residual);
  }
  const NormPasses& passes = passes_of(variant);
  const Rows rows(x);
  const Affine affine(rows, weight, bias, mean, inverse_deviation);
  const auto added = tail == NormTail::kAddRelu ? in_channels_last(residual) : at::Tensor();
  auto y = at::empty_like(x);
  NormApply args;
  args.channels = rows.width();
  args.tail = tail;
  args.x = x.const_data_ptr<float>();
  args.scale = affine.scale.data();
  args.offset = affine.offset.data();
  if (added.defined()) args.residual = added.const_data_ptr<float>();
  args.y = y.mutable_data_ptr<float>();
  rows.for_blocks([&](int64_t, int64_t begin, int64_t end) { passes.apply(args, begin, end); });
  return y;
}

NormGradients norm_backward(const at::Tensor& gradient, const at::Tensor& y, const at::Tensor& x,
                            const at::Tensor& weight, const at::Tensor& bias,
                            const at::Tensor& mean, const at::Tensor& inverse_deviation,
                            NormTail tail, GradientVisitor* visitor, std::string_view variant) {
  if (x.is_cuda()) {
    return norm_backward_on_gpu(gradient, y, x, weight, bias, mean, inverse_deviation, tail);
  }
  const NormPasses& passes = passes_of(variant);
  const Rows rows(x);
  const Affine affine(rows, weight, bias, mean, inverse_deviation);
  const auto dy = in_channels_last(gradient);
  const auto m = to_vector(mean), inverse = to_vector(inverse_deviation), w = to_vector(weight);
  const auto wide_mean = rows.repeated(m);

  NormGradients result;
  if (tail == NormTail::kAddRelu) result.dresidual = at::empty_like(x);
  NormSums sums;
  sums.channels = rows.width();
  sums.tail = tail;
  sums.dy = dy.const_data_ptr<float>();
  if (tail == NormTail::kAddRelu) sums.y = y.const_data_ptr<float>();
  sums.x = x.const_data_ptr<float>();
  sums.scale = affine.scale.data();
  sums.offset = affine.offset.data();
  sums.mean = wide_mean.data();
  if (result.dresidual.defined()) sums.dresidual = result.dresidual.mutable_data_ptr<float>();
  const auto [sum, product] = rows.sums(
      [&](int64_t begin, int64_t end, float* s, float* q) { passes.sums(sums, begin, end, s, q); });

  // dx = w inv (g - sum / M - (x - mean) inv^2 product / M), gathered by what it multiplies.
  result.dweight = at::empty_like(weight);
  result.dbias = at::empty_like(weight);
  auto* dweight = result.dweight.mutable_data_ptr<float>();
  auto* dbias = result.dbias.mutable_data_ptr<float>();
  const auto count = static_cast<double>(rows.count());
  std::vector<float> a(m.size()), b(m.size()), d(m.size());
  for (size_t c = 0; c < m.size(); ++c) {
    const double of_g = double{w[c]} * inverse[c];
    const double of_x = -of_g * inverse[c] * inverse[c] * product[c] / count;
    dweight[c] = static_cast<float>(product[c] * inverse[c]);
    dbias[c] = static_cast<float>(sum[c]);
    a[c] = static_cast<float>(of_g);
    b[c] = static_cast<float>(of_x);
    d[c] = static_cast<float>(-of_g * sum[c] / count - of_x * m[c]);
  }
  a = rows.repeated(a);
  b = rows.repeated(b);
  d = rows.repeated(d);

  result.dx = at::empty_like(x);
  NormGradient args;
  args.channels = rows.width();
  args.relu = tail == NormTail::kRelu;
  args.dy = tail == NormTail::kAddRelu ? result.dresidual.const_data_ptr<float>() : sums.dy;
  args.x = sums.x;
  args.scale = sums.scale;
  args.offset = sums.offset;
  args.a = a.data();
  args.b = b.data();
  args.d = d.data();
  args.dx = result.dx.mutable_data_ptr<float>();
  if (visitor != nullptr) visitor->begin(result.dx, rows.blocks());
  rows.for_blocks([&](int64_t block, int64_t begin, int64_t end) {
    passes.gradient(args, begin, end);
    if (visitor != nullptr)
      visitor->visit(block, args.dx, begin * rows.width(), end * rows.width());
  });
  return result;
}

}  // namespace approx
