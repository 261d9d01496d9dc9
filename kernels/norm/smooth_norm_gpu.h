// The passes of a batch norm with a GELU or CELU behind it, or an addition and a GELU, on a GPU;
// kernels of their own: in those of norm_gpu.h they would take registers from the other tails.
#pragma once

#include <cmath>

#include "kernels/norm/norm_gpu.h"
#include "kernels/norm/smooth_tails.h"

namespace approx {

// The polynomial kMills at t, from the power kFrom on.
template <size_t kFrom = 0>
APPROX_GPU float mills_of(float t) {
  constexpr float kFactor = kMills[kFrom];
  if constexpr (kFrom + 1 == kMillsCount) {
    return kFactor;
  } else {
    return std::fma(mills_of<kFrom + 1>(t), t, kFactor);
  }
}

struct NormalLawOnGpu {
  float distribution, density;
};

// Phi(z) and phi(z), for |z| <= kFarthestNormal.
APPROX_GPU NormalLawOnGpu normal_law_on_gpu(float z) {
  const float a = std::fabs(z);
  const float square = a * a;
  const float lost = std::fma(-0.5F, std::fma(a, a, -square), 1.0F);
  const float e = std::exp(-0.5F * square) * lost;
  const float tail = e * mills_of(1 / std::fma(kTailScale, a, 1.0F));
  return {z < 0 ? tail : 1 - tail, e * kDensityAtZero};
}

// The smooth tail of z, to which a residual has been added where it is one that adds, and its slope
// there; alpha of kCelu. (A NaN stays.)
APPROX_GPU float smooth_tail_on_gpu(NormTail tail, float alpha, float z) {
  if (tail == NormTail::kCelu) return z > 0 ? z : alpha * std::expm1(z / alpha);
  const float low = z < -kFarthestNormal ? -kFarthestNormal : z;
  return low * normal_law_on_gpu(low > kFarthestNormal ? kFarthestNormal : low).distribution;
}
APPROX_GPU float smooth_slope_on_gpu(NormTail tail, float alpha, float z) {
  if (tail == NormTail::kCelu) return z > 0 ? 1 : std::exp(z / alpha);
  const float low = z < -kFarthestNormal ? -kFarthestNormal : z;
  const float near = low > kFarthestNormal ? kFarthestNormal : low;
  const NormalLawOnGpu law = normal_law_on_gpu(near);
  return std::fma(near, law.density, law.distribution);
}

template <typename Number, int kWidth>
struct SmoothNormApplyGpu {
  static constexpr int kMostThreads = 256;
  NormApplyOnGpu<Number> on;

  constexpr PlaneBlocks blocks() const {
    return blocks_of_rows(on.rows, on.pass.channels / kWidth);
  }
  Grid grid() const { return blocks().grid(0); }

  template <typename Thread>
  APPROX_GPU void operator()(Thread& thread) const {
    const NormApply<Number>& a = on.pass;
    const PlaneThread at(blocks(), thread);
    if (at.vector >= blocks().vectors) return;
    const auto scale = load_constant<kWidth>(a.scale + at.vector * kWidth);
    const auto offset = load_constant<kWidth>(a.offset + at.vector * kWidth);
    for_own_rows(thread, blocks(), at, on.rows, [&](int64_t row) {
      const int64_t index = row * a.channels + at.vector * kWidth;
      Floats<kWidth> y = load_constant<kWidth>(a.x + index);
      for (int i = 0; i < kWidth; ++i) y.v[i] = norm_affine(y.v[i], scale.v[i], offset.v[i]);
      if (adds_residual(a.tail)) {
        const auto residual = load_constant<kWidth>(a.residual + index);
        for (int i = 0; i < kWidth; ++i) y.v[i] += residual.v[i];
      }
      for (int i = 0; i < kWidth; ++i) y.v[i] = smooth_tail_on_gpu(a.tail, a.alpha, y.v[i]);
      store<kWidth>(a.y + index, y);
    });
  }
};

template <typename Number, int kWidth>
struct SmoothNormSumsGpu {
  static constexpr int kMostThreads = 256;
  NormSumsOnGpu<Number> on;

  Grid grid() const {
    return blocks_of_rows(on.rows, on.pass.channels / kWidth).grid(sizeof(TwoSums<float, kWidth>));
  }

  template <typename Thread>
  APPROX_GPU void operator()(Thread& thread) const {
    const NormSums<Number>& a = on.pass;
    sums_of_rows<TwoSums<float, kWidth>>(
        thread, on.rows, a.channels, on.partial,
        [&](int64_t index, int64_t channel, TwoSums<float, kWidth>& sums) {
          Floats<kWidth> g = load_constant<kWidth>(a.dy + index);
          const auto x = load_constant<kWidth>(a.x + index);
          const auto scale = load_constant<kWidth>(a.scale + channel);
          const auto offset = load_constant<kWidth>(a.offset + channel);
          Floats<kWidth> z;
          for (int i = 0; i < kWidth; ++i) z.v[i] = norm_affine(x.v[i], scale.v[i], offset.v[i]);
          if (adds_residual(a.tail)) {
            const auto residual = load_constant<kWidth>(a.residual + index);
            for (int i = 0; i < kWidth; ++i) z.v[i] += residual.v[i];
          }
          for (int i = 0; i < kWidth; ++i) g.v[i] *= smooth_slope_on_gpu(a.tail, a.alpha, z.v[i]);
          if (adds_residual(a.tail)) store<kWidth>(a.dresidual + index, g);
          const auto mean = load_constant<kWidth>(a.mean + channel);
          for (int i = 0; i < kWidth; ++i) {
            sums.first[i] += g.v[i];
            sums.second[i] += g.v[i] * (x.v[i] - mean.v[i]);
          }
        });
  }
};

// As NormGradientGpu, of which it has what is done to dx beside writing it.
template <typename Number, int kWidth, Looking kLooking>
struct SmoothNormGradientGpu : NormGradientGpu<Number, kWidth, kLooking> {
  template <typename Thread>
  APPROX_GPU void operator()(Thread& thread) const {
    const PlaneThread at(this->blocks(), thread);
    typename SmoothNormGradientGpu::Seen seen;
    if (at.vector < this->blocks().vectors) write(thread, at, seen);
    if constexpr (kLooking != Looking::kNot) this->leave(thread, seen);
  }

 private:
  template <typename Thread>
  APPROX_GPU void write(const Thread& thread, const PlaneThread& at,
                        typename SmoothNormGradientGpu::Seen& seen) const {
    const NormGradient<Number>& p = this->on.pass;
    const int64_t channel = at.vector * kWidth;
    const auto a = load_constant<kWidth>(p.a + channel), b = load_constant<kWidth>(p.b + channel),
               d = load_constant<kWidth>(p.d + channel);
    const auto scale = load_constant<kWidth>(p.scale + channel);
    const auto offset = load_constant<kWidth>(p.offset + channel);
    float tau = 0;
    if constexpr (kLooking == Looking::kPruning) tau = threshold_of<Number>(*this->on.look.tau);
    for_own_rows(thread, this->blocks(), at, this->on.rows, [&](int64_t row) {
      const int64_t index = row * p.channels + channel;
      const auto dy = load_constant<kWidth>(p.dy + index), x = load_constant<kWidth>(p.x + index);
      Floats<kWidth> dx;
      for (int i = 0; i < kWidth; ++i) {
        const float z = norm_affine(x.v[i], scale.v[i], offset.v[i]);
        const float g = dy.v[i] * smooth_slope_on_gpu(p.smooth, p.alpha, z);
        dx.v[i] = std::fma(a.v[i], g, std::fma(b.v[i], x.v[i], d.v[i]));
      }
      if constexpr (kLooking != Looking::kNot) this->look(index, tau, dx, seen);
      store<kWidth>(p.dx + index, dx);
    });
  }
};

}  // namespace approx
