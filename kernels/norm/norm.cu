#include "kernels/float16.h"
#include "kernels/gpu/launch.cuh"
#include "kernels/norm/norm_gpu.h"
#include "kernels/norm/smooth_norm_gpu.h"

namespace approx {
namespace {

// Whether four channels are moved at a time. (Where there are none of an array there is nothing to
// move.)
template <typename... Pointers>
bool fours(int64_t channels, Pointers... pointers) {
  return channels % 4 == 0 && (lies_by(4, pointers) && ...);
}

template <typename Number>
void launch_statistics(const NormStatisticsOnGpu<Number>& on, void* stream) {
  if (fours(on.channels, on.x)) {
    launch(NormMomentsGpu<Number, 4>{on}, stream);
  } else {
    launch(NormMomentsGpu<Number, 1>{on}, stream);
  }
  launch(NormMomentsEnd<Number>{on}, stream);
}

template <typename Number>
void launch_apply(const NormApplyOnGpu<Number>& on, void* stream) {
  const auto& a = on.pass;
  const bool by_fours = fours(a.channels, a.x, a.scale, a.offset, a.residual, a.y);
  if (is_smooth(a.tail)) {
    if (by_fours) return launch(SmoothNormApplyGpu<Number, 4>{on}, stream);
    return launch(SmoothNormApplyGpu<Number, 1>{on}, stream);
  }
  if (by_fours) return launch(NormApplyGpu<Number, 4>{on}, stream);
  launch(NormApplyGpu<Number, 1>{on}, stream);
}

template <typename Number>
void launch_sums(const NormSumsOnGpu<Number>& on, void* stream) {
  const auto& a = on.pass;
  const bool by_fours =
      fours(a.channels, a.dy, a.x, a.y, a.residual, a.scale, a.offset, a.mean, a.dresidual);
  if (is_smooth(a.tail)) {
    if (by_fours) {
      launch(SmoothNormSumsGpu<Number, 4>{on}, stream);
    } else {
      launch(SmoothNormSumsGpu<Number, 1>{on}, stream);
    }
  } else if (by_fours) {
    launch(NormSumsGpu<Number, 4>{on}, stream);
  } else {
    launch(NormSumsGpu<Number, 1>{on}, stream);
  }
  launch(NormSumsEnd<Number>{on}, stream);
}

template <template <typename, int, Looking> typename Gradient, typename Number, int kWidth>
void launch_gradient_by(const NormGradientOnGpu<Number>& on, void* stream) {
  using Adding = Gradient<Number, kWidth, Looking::kAdding>;
  if (on.partial == nullptr) return launch(Gradient<Number, kWidth, Looking::kNot>{on}, stream);
  if (on.look.tau != nullptr) {
    launch(Gradient<Number, kWidth, Looking::kPruning>{on}, stream);
  } else {
    launch(Adding{on}, stream);
  }
  const Grid grid = Adding{on}.grid();
  launch(MeanOfPartials{on.rows * on.pass.channels, grid.x * grid.y, on.partial, on.look.mean},
         stream);
}

template <typename Number>
void launch_gradient(const NormGradientOnGpu<Number>& on, void* stream) {
  const auto& p = on.pass;
  const bool by_fours = fours(p.channels, p.dy, p.x, p.scale, p.offset, p.a, p.b, p.d, p.dx);
  if (is_smooth(p.smooth)) {
    if (by_fours) return launch_gradient_by<SmoothNormGradientGpu, Number, 4>(on, stream);
    return launch_gradient_by<SmoothNormGradientGpu, Number, 1>(on, stream);
  }
  if (by_fours) return launch_gradient_by<NormGradientGpu, Number, 4>(on, stream);
  launch_gradient_by<NormGradientGpu, Number, 1>(on, stream);
}

REGISTER_LAUNCH(NormStatisticsOnGpu<float>, launch_statistics<float>);
REGISTER_LAUNCH(NormApplyOnGpu<float>, launch_apply<float>);
REGISTER_LAUNCH(NormSumsOnGpu<float>, launch_sums<float>);
REGISTER_LAUNCH(NormGradientOnGpu<float>, launch_gradient<float>);
REGISTER_LAUNCH(NormStatisticsOnGpu<BFloat16>, launch_statistics<BFloat16>);
REGISTER_LAUNCH(NormApplyOnGpu<BFloat16>, launch_apply<BFloat16>);
REGISTER_LAUNCH(NormSumsOnGpu<BFloat16>, launch_sums<BFloat16>);
REGISTER_LAUNCH(NormGradientOnGpu<BFloat16>, launch_gradient<BFloat16>);
REGISTER_LAUNCH(NormStatisticsOnGpu<Float16>, launch_statistics<Float16>);
REGISTER_LAUNCH(NormApplyOnGpu<Float16>, launch_apply<Float16>);
REGISTER_LAUNCH(NormSumsOnGpu<Float16>, launch_sums<Float16>);
REGISTER_LAUNCH(NormGradientOnGpu<Float16>, launch_gradient<Float16>);

}  // namespace
}  // namespace approx
