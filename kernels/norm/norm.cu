#include "kernels/gpu/launch.cuh"
#include "kernels/norm/norm_gpu.h"

namespace approx {
namespace {

// Whether four channels are moved at a time. (Where there are none of an array there is nothing to
// move.)
template <typename... Pointers>
bool fours(int64_t channels, Pointers... pointers) {
  return channels % 4 == 0 && (lies_by(4, pointers) && ...);
}

void launch_statistics(const NormStatisticsOnGpu& on, void* stream) {
  if (fours(on.channels, on.x)) {
    launch(NormMomentsGpu<4>{on}, stream);
  } else {
    launch(NormMomentsGpu<1>{on}, stream);
  }
  launch(NormMomentsEnd{on}, stream);
}

void launch_apply(const NormApplyOnGpu& on, void* stream) {
  const NormApply& a = on.pass;
  if (fours(a.channels, a.x, a.scale, a.offset, a.residual, a.y)) {
    return launch(NormApplyGpu<4>{on}, stream);
  }
  launch(NormApplyGpu<1>{on}, stream);
}

void launch_sums(const NormSumsOnGpu& on, void* stream) {
  const NormSums& a = on.pass;
  if (fours(a.channels, a.dy, a.x, a.y, a.scale, a.offset, a.mean, a.dresidual)) {
    launch(NormSumsGpu<4>{on}, stream);
  } else {
    launch(NormSumsGpu<1>{on}, stream);
  }
  launch(NormSumsEnd{on}, stream);
}

void launch_gradient(const NormGradientOnGpu& on, void* stream) {
  const NormGradient& p = on.pass;
  if (fours(p.channels, p.dy, p.x, p.scale, p.offset, p.a, p.b, p.d, p.dx)) {
    return launch(NormGradientGpu<4>{on}, stream);
  }
  launch(NormGradientGpu<1>{on}, stream);
}

REGISTER_LAUNCH(NormStatisticsOnGpu, launch_statistics);
REGISTER_LAUNCH(NormApplyOnGpu, launch_apply);
REGISTER_LAUNCH(NormSumsOnGpu, launch_sums);
REGISTER_LAUNCH(NormGradientOnGpu, launch_gradient);

}  // namespace
}  // namespace approx
