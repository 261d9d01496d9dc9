#include "tests/kernel_checks/operands.h"

#include <fmt/format.h>

#include "kernels/dense/dense.h"
#include "kernels/gaussian/gaussian.h"
#include "kernels/pooled/pooled.h"
#include "kernels/pruned_dy/pruned_dy.h"
#include "kernels/quantized/quantized.h"
#include "kernels/sampled/sampled.h"
#include "kernels/skip/skip.h"

namespace approx {

#define APPROX_NO_TENSORS(PLAN, REAL)                                                            \
  at::Tensor Arguments<PLAN, REAL>::run(const Work<PLAN, REAL>&, const PLAN&, const Operands&) { \
    return {};                                                                                   \
  }
#define APPROX_NO_TENSORS_OF(PLAN)                                                               \
  template <typename Real>                                                                       \
  at::Tensor Arguments<PLAN, Real>::run(const Work<PLAN, Real>&, const PLAN&, const Operands&) { \
    return {};                                                                                   \
  }                                                                                              \
  template struct Arguments<PLAN, float>;                                                        \
  template struct Arguments<PLAN, double>

APPROX_NO_TENSORS_OF(Dense);
APPROX_NO_TENSORS_OF(PrunedDY);
APPROX_NO_TENSORS_OF(SparseDY);
APPROX_NO_TENSORS_OF(StructuredDY);
APPROX_NO_TENSORS_OF(Sampled);
APPROX_NO_TENSORS_OF(Pooled);
APPROX_NO_TENSORS_OF(Quantized);
APPROX_NO_TENSORS_OF(Skip);
APPROX_NO_TENSORS(Gaussian, float)

Problem drawn_problem(Draws& draw) {
  static const std::vector<int64_t> kChannels = {1, 5, 8, 16, 17, 31, 32, 48, 64, 130};
  const auto channels = [&] { return kChannels[static_cast<size_t>(draw.below(10))]; };
  Problem p;
  p.product = kAllProducts[static_cast<size_t>(draw.below(3))];
  p.kh = 1 + draw.below(5);
  p.kw = draw.below(3) == 0 ? p.kh : 1 + 2 * draw.below(4);
  p.geometry.stride = {1 + draw.below(2), 1 + draw.below(2)};
  p.geometry.padding = {draw.below(p.kh), draw.below(p.kw)};
  if (draw.below(4) == 0) p.geometry.dilation = {1 + draw.below(2), 1 + draw.below(2)};
  p.h = p.geometry.dilation.h * (p.kh - 1) + 1 + draw.below(8);
  p.w = p.geometry.dilation.w * (p.kw - 1) + 1 + draw.below(17);
  p.n = 1 + draw.below(5);
  p.ci = channels();
  p.co = channels();
  const auto out = output_size({p.h, p.w}, {p.kh, p.kw}, p.geometry);
  p.ho = out.h;
  p.wo = out.w;
  p.group = draw.below(2) == 0 ? 4 : 1 + draw.below(8);
  return p;
}

std::string described(const Problem& p) {
  return fmt::format(
      "{} n {} ci {} {}x{} co {} kernel {}x{} stride {}x{} padding {}x{} dilation "
      "{}x{}",
      name(p.product), p.n, p.ci, p.h, p.w, p.co, p.kh, p.kw, p.geometry.stride.h,
      p.geometry.stride.w, p.geometry.padding.h, p.geometry.padding.w, p.geometry.dilation.h,
      p.geometry.dilation.w);
}

}  // namespace approx
