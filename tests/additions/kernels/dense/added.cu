// The exact weight gradient on a GPU: a thread for each number of the result.
#include "kernels/dense/dense.h"

namespace approx {
namespace {

__global__ void added_weight_gradient(Arguments<Dense, float> args, int64_t count) {
  const Problem& p = args.problem;
  const int64_t index = blockIdx.x * int64_t{blockDim.x} + threadIdx.x;
  if (index >= count) return;
  const int64_t i = index % p.ci, s = index / p.ci % p.kw, r = index / (p.ci * p.kw) % p.kh;
  const int64_t co = index / p.slice_size();
  float sum = 0;
  for (int64_t n = 0; n < p.n; ++n) {
    for (int64_t oy = 0; oy < p.ho; ++oy) {
      const int64_t y = p.geometry.stride.h * oy - p.geometry.padding.h + p.geometry.dilation.h * r;
      if (y < 0 || y >= p.h) continue;
      for (int64_t ox = 0; ox < p.wo; ++ox) {
        const int64_t x =
            p.geometry.stride.w * ox - p.geometry.padding.w + p.geometry.dilation.w * s;
        if (x < 0 || x >= p.w) continue;
        sum += args.dy[((n * p.ho + oy) * p.wo + ox) * p.co + co] *
               args.x[((n * p.h + y) * p.w + x) * p.ci + i];
      }
    }
  }
  args.out[index] = sum;
}

void launch_added(const Arguments<Dense, float>& args, void* stream) {
  constexpr int64_t kThreads = 256;
  const int64_t count = args.problem.slices() * args.problem.slice_size();
  const auto blocks = static_cast<unsigned>((count + kThreads - 1) / kThreads);
  added_weight_gradient<<<blocks, kThreads, 0, static_cast<cudaStream_t>(stream)>>>(args, count);
}

REGISTER_KERNEL(Dense, "added_cuda", launch_added)
    .computes({Product::kWeightGradient})
    .where([](const Problem& p) { return p.one_group(); })
    .rank(1000);  // never the fastest

}  // namespace
}  // namespace approx
