#include "kernels/gpu/launch.cuh"
#include "kernels/gpu/probes.h"

namespace approx {
namespace {

template <typename Number>
void launch_tiles(const SparseTilesArgs<Number>& args, void* stream) {
  launch(SparseTiles<Number>{args}, stream);
}

template <typename Number>
void launch_dense_tiles(const DenseTilesArgs<Number>& args, void* stream) {
  launch(DenseTiles<Number>{args}, stream);
}

void launch_loads(const LoadedMatricesArgs& args, void* stream) {
  launch(LoadedMatrices{args}, stream);
}

REGISTER_LAUNCH(SparseTilesArgs<BFloat16>, launch_tiles<BFloat16>);
REGISTER_LAUNCH(SparseTilesArgs<Float16>, launch_tiles<Float16>);
REGISTER_LAUNCH(DenseTilesArgs<BFloat16>, launch_dense_tiles<BFloat16>);
REGISTER_LAUNCH(DenseTilesArgs<Float16>, launch_dense_tiles<Float16>);
REGISTER_LAUNCH(LoadedMatricesArgs, launch_loads);

}  // namespace
}  // namespace approx
