#include "kernels/gaussian/gaussian_gpu.h"
#include "kernels/gpu/launch.cuh"

namespace approx {
namespace {

void draw_normals(const GaussianArgs& args, void* stream) {
  if (lies_by(4, args.out)) return launch(GaussianDraws<true>{args}, stream);
  launch(GaussianDraws<false>{args}, stream);
}

REGISTER_KERNEL(Gaussian, "cuda", draw_normals).computes({Product::kWeightGradient}).rank(0);

}  // namespace
}  // namespace approx
