// crs: column-row sampling with replacement (Drineas, Kannan & Mahoney 2006; Adelman et al. 2021,
// section 2.2, Eqs. 1 and 4): k pairs drawn with p_i proportional to their scores, each scaled by 1
// / (k p_i). Unbiased. A pair drawn several times is computed once, with its factor as often. The
// published code mixes 0.1 of the uniform distribution into p (`mix=0.1`); the paper does not.
// Where all scores are zero the product is zero and every pair equally likely; the published code
// divides by zero there.
//
// k draws take k pairs or fewer. With `size=fixed` there are k in the sample: those that were
// drawn, and in place of second draws other pairs at scale 0, which add nothing to a sum and zeros
// where the result carries the axis. No pair is there twice, so that what is put back by its index
// is not put into one place twice. The estimate is that of `size=drawn` for the same draws.
#include <ATen/ATen.h>

#include <cmath>

#include "core/methods/sampling.h"
#include "kernels/draws.h"
#include "kernels/select/select.h"

namespace approx {
namespace {

class Crs final : public DrawingMethod {
 public:
  using DrawingMethod::DrawingMethod;

 private:
  Sampled choose(const at::Tensor& scores, int64_t k, const Rng& rng) const override {
    const int64_t n = scores.numel();
    const auto p = shares(scores);
    const auto edges = p.cumsum(0);
    const auto u = draws_among(rng, n, {k}, scores.device()).to(at::kDouble) * edges[n - 1];
    const auto drawn = at::searchsorted(edges, u, /*out_int32=*/false, /*right=*/true);
    // How often each was drawn, [n]; one that is no number counts as drawn. (bincount would ask the
    // device for the largest.)
    const auto no_number = scores.isfinite().logical_not();
    auto times = no_number.to(at::kLong);
    times.scatter_add_(0, drawn.clamp(0, n - 1), at::ones_like(drawn));
    const auto index =
        has_fixed_size() ? with_others(times, no_number, k) : times.nonzero().flatten();
    const auto scale = (times / (p * static_cast<double>(k))).masked_fill(times == 0, 0);
    return {.index = index, .scale = scale.index_select(0, index).to(at::kFloat)};
  }

  // (sum s^2 / p - |exact|^2) / k, for any p.
  double expected_square_of(const at::Tensor& scores, int64_t k,
                            double exact_square) const override {
    const auto squares = (scores * scores / shares(scores)).masked_fill(scores == 0, 0);
    return (squares.sum().item<double>() - exact_square) / static_cast<double>(k);
  }

  // k pairs: what is no number first, then what was drawn, then what was not.
  static at::Tensor with_others(const at::Tensor& times, const at::Tensor& no_number, int64_t k) {
    return largest(times.to(at::kDouble).masked_fill(no_number, INFINITY), k);
  }
};

REGISTER_METHOD("crs", Crs)
    .about("column-row pairs drawn with replacement by norm product, unbiased")
    .from_paper("adelman2021", "section 2.2")
    .in_version(2)
    .rounding_from(1)  // sums are added up otherwise
    .with(DrawingMethod::declare)
    .in_half_version(3)
    .controlled_by("crs:mix=1");  // as many draws, with replacement

}  // namespace
}  // namespace approx
