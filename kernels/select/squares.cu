#include "kernels/float16.h"
#include "kernels/gpu/launch.cuh"
#include "kernels/select/squares_gpu.h"

namespace approx {
namespace {

template <typename Number, int kWidth>
void launch_norms_by(const NormsOnGpu<Number>& on, void* stream) {
  if (on.of_rows) return launch(RowNormsGpu<Number, kWidth>{on}, stream);
  constexpr int kMost = kMostMoved<Number>;
  if (on.m.columns % kMost == 0 && lies_by(kMost, on.m.data)) {
    launch(ColumnSquaresGpu<Number, kMost>{on}, stream);
  } else {
    launch(ColumnSquaresGpu<Number, kWidth>{on}, stream);
  }
  launch(ColumnNormsEnd<Number>{on}, stream);
}

template <typename Number>
void launch_norms(const NormsOnGpu<Number>& on, void* stream) {
  if (on.m.columns % 4 == 0 && lies_by(4, on.m.data)) return launch_norms_by<Number, 4>(on, stream);
  launch_norms_by<Number, 1>(on, stream);
}

REGISTER_LAUNCH(NormsOnGpu<float>, launch_norms<float>);
REGISTER_LAUNCH(NormsOnGpu<BFloat16>, launch_norms<BFloat16>);
REGISTER_LAUNCH(NormsOnGpu<Float16>, launch_norms<Float16>);

}  // namespace
}  // namespace approx
