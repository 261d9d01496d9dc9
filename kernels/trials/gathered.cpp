#include "kernels/trials/gathered.h"

#include <ATen/ops/cat.h>
#include <ATen/ops/constant_pad_nd.h>
#include <c10/core/impl/VirtualGuardImpl.h>

#include "base/error.h"
#include "kernels/select/select.h"
#include "kernels/trials/two_of_four.h"
#include "kernels/variant.h"

namespace approx {
namespace {

// The process's own, open for as long as it lives: at its end CUDA may be gone before it. Null
// where there is none.
CusparseLt* cusparselt() {
  static CusparseLt* const library = []() -> CusparseLt* {
    try {
      return new CusparseLt();
    } catch (const Error&) {
      return nullptr;
    }
  }();
  return library;
}

PreparedProduct prepare_cusparselt(const StructuredDY& plan, const Operands& o) {
  return prepare_gathered(*cusparselt(), nm_pruned(o.dy, plan.choice, plan.rng).dy, o);
}

at::Tensor by_cusparselt(const StructuredDY& plan, const Operands& o) {
  return prepare_cusparselt(plan, o)();
}

// On the current GPU.
bool cusparselt_fits(const Problem& p) {
  if (!takes_two_of_four(p) || !takes_gathered(p) || cusparselt() == nullptr) return false;
  const at::Device device = c10::impl::VirtualGuardImpl(c10::kCUDA).getDevice();
  return cusparselt()->has_plan(device, p.n * p.h * p.w, p.kh * p.kw * p.co, p.ci,
                                p.element == ElementType::kHalf ? at::kHalf : at::kBFloat16);
}

// On an H200 slower than the exact product on all layers of two networks (docs/internals/gpu.md).
REGISTER_KERNEL(StructuredDY, "cusparselt", by_cusparselt)
    .computes({Product::kDataGradient})
    .on({Hardware::kCuda})
    .reads({ElementType::kBFloat16, ElementType::kHalf})
    .where(cusparselt_fits)
    .trial()
    .in_two_parts(prepare_cusparselt)
    .rank(-1);

}  // namespace

bool takes_gathered(const Problem& p) {
  constexpr int64_t kUnit = 16;
  return p.product == Product::kDataGradient && p.one_group() && p.geometry.stride == Spatial(1) &&
         p.n * p.h * p.w % kUnit == 0 && p.ci % kUnit == 0 && p.co % kUnit == 0;
}

at::Tensor gathered_rows(const at::Tensor& dy, const Problem& p) {
  const auto map = dy.permute({0, 2, 3, 1});  // [N,Ho,Wo,Co]
  const Geometry& g = p.geometry;
  if (p.kh * p.kw == 1 && g.padding == Spatial(0)) return map.reshape({-1, p.co});
  // Pixel y of x meets pixel y + padding - r * dilation of dY under tap r: from the first that any
  // meets to the last. (Less than nothing to fill up is cut off.)
  const int64_t above = (p.kh - 1) * g.dilation.h - g.padding.h, below = p.h + g.padding.h - p.ho;
  const int64_t left = (p.kw - 1) * g.dilation.w - g.padding.w, right = p.w + g.padding.w - p.wo;
  const auto filled = at::constant_pad_nd(map, {0, 0, left, right, above, below});
  std::vector<at::Tensor> taps;
  for (int64_t r = 0; r < p.kh; ++r) {
    for (int64_t s = 0; s < p.kw; ++s) {
      taps.push_back(filled.narrow(1, (p.kh - 1 - r) * g.dilation.h, p.h)
                         .narrow(2, (p.kw - 1 - s) * g.dilation.w, p.w));
    }
  }
  return at::cat(taps, 3).reshape({p.n * p.h * p.w, -1});
}

PreparedProduct prepare_gathered(CusparseLt& library, const at::Tensor& dy, const Operands& o) {
  const Problem p = problem_of(o);
  const auto rows = library.compress(gathered_rows(dy, p).contiguous(), p.ci);
  return [&library, rows, w = o.w, p] {
    const auto weights = w.permute({2, 3, 0, 1}).reshape({-1, p.ci}).contiguous();
    return library.multiply(rows, weights).view({p.n, p.h, p.w, p.ci}).permute({0, 3, 1, 2});
  };
}

}  // namespace approx
