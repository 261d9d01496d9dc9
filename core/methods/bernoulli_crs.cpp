// bernoulli_crs: every pair is taken or left by a draw of its own, with p_i = min(k s_i / sum s,
// 1), scaled by 1 / p_i (Adelman et al. 2021, section 4, Eqs. 15 and 16). Unbiased; k pairs on
// average where no p_i is cut at 1, fewer otherwise. Nothing drawn is a product of zero; the
// published code takes the first k pairs then, which is not unbiased. The published code's p_i is
// 0.9 of that and 0.1/n more (`mix=0.1`); the paper's is not.
//
// With `size=fixed` the sample has m = min(n, k + ceil(2 sqrt(k (1 - k/n)))) places: the number N
// of pairs that are taken has a mean of at most k, and where it is k a standard deviation of at
// most that root. Where N <= m, all that were taken are there, and others at scale 0. Where N > m,
// m of the N are, drawn with equal chances, their scales times N/m. That is unbiased too: given
// that they were taken each of the N stays with chance m/N, so its expected scale is 1/p_i as
// before. No more draws are needed for that. Pair i is taken where its uniform u_i is below p_i,
// and given that, u_i / p_i is uniform in (0, 1) whatever p_i is, and independent of the others':
// the m smallest are any m of the N alike. Pairs that were not taken have quotients of 1 and more,
// so the m smallest of all n are the sample in either case.
#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>

#include "core/methods/sampling.h"
#include "kernels/draws.h"
#include "kernels/select/select.h"

namespace approx {
namespace {

class BernoulliCrs final : public DrawingMethod {
 public:
  using DrawingMethod::DrawingMethod;

 private:
  Sampled choose(const at::Tensor& scores, int64_t k, const Rng& rng) const override {
    const auto n = static_cast<double>(scores.numel());
    const auto p = chances(scores, k);
    const auto u = draws_among(rng, scores.numel(), {scores.numel()}, scores.device());
    const auto no_number = scores.isfinite().logical_not();
    const auto taken = (u < p).logical_or(no_number);
    if (has_fixed_size()) {
      // What is no number stays whatever was drawn.
      const auto quotient = (u / p).masked_fill(no_number, 0);
      return smallest(quotient, p, taken, places(n, static_cast<double>(k)));
    }
    const auto index = taken.nonzero().flatten();
    return {.index = index, .scale = p.index_select(0, index).reciprocal().to(at::kFloat)};
  }

  // sum (1 - p) / p s^2, for any p. Of a fixed size there is no closed form: it may leave some out.
  double expected_square_of(const at::Tensor& scores, int64_t k,
                            double /*exact_square*/) const override {
    if (has_fixed_size()) return NAN;
    const auto p = chances(scores, k);
    return ((1 - p) / p * scores * scores).masked_fill(scores == 0, 0).sum().item<double>();
  }

  // The probability of each pair to be taken.
  at::Tensor chances(const at::Tensor& scores, int64_t k) const {
    const auto total = scores.sum();
    const auto share = at::where(total > 0, scores / total, at::zeros_like(scores));
    return (share * static_cast<double>(k)).clamp_max(1) * (1 - mix()) +
           mix() / static_cast<double>(scores.numel());
  }

  static int64_t places(double n, double k) {
    return static_cast<int64_t>(std::min(n, k + std::ceil(2 * std::sqrt(k * (1 - k / n)))));
  }

  // The m pairs of smallest quotient; those that were not taken at scale 0.
  static Sampled smallest(const at::Tensor& quotient, const at::Tensor& p, const at::Tensor& taken,
                          int64_t m) {
    const auto index = largest(-quotient, m);
    const auto excess =
        (taken.sum(at::kDouble) / static_cast<double>(m)).clamp_min(1);  // N/m, or 1
    const auto scale = (excess / p).masked_fill(taken.logical_not(), 0);
    return {.index = index, .scale = scale.index_select(0, index).to(at::kFloat)};
  }
};

REGISTER_METHOD("bernoulli_crs", BernoulliCrs)
    .about("column-row pairs drawn independently by norm product, unbiased")
    .from_paper("adelman2021", "section 4")
    .in_version(2)
    .rounding_from(1)  // sums are added up otherwise
    .with(DrawingMethod::declare)
    .in_half_version(3)
    .controlled_by("uniform_crs");

}  // namespace
}  // namespace approx
