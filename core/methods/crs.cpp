// crs: column-row sampling with replacement (Drineas, Kannan & Mahoney 2006; Adelman et al. 2021,
// section 2.2, Eqs. 1 and 4): k pairs drawn with p_i proportional to their scores, each scaled by 1
// / (k p_i). Unbiased. A pair drawn several times is computed once, with its factor as often. The
// published code mixes 0.1 of the uniform distribution into p (`mix=0.1`); the paper does not.
// Where all scores are zero the product is zero and every pair equally likely; the published code
// divides by zero there.
#include <ATen/ATen.h>

#include "core/methods/sampling.h"
#include "kernels/draws.h"

namespace approx {
namespace {

class Crs final : public SamplingMethod {
 public:
  explicit Crs(const Params& params) : SamplingMethod(params), mix_(params.real("mix")) {}

  std::string_view waits_for() const override { return "how many pairs its draws take"; }

 private:
  Sampled choose(const at::Tensor& scores, int64_t k, const Rng& rng) const override {
    const int64_t n = scores.numel();
    const auto total = scores.sum();
    const auto even = at::full_like(scores, 1.0 / static_cast<double>(n));
    const auto p = at::where(total > 0, scores / total, even) * (1 - mix_) + even * mix_;
    const auto edges = p.cumsum(0);
    const auto u = uniform_draws(rng, {k}, scores.device()).to(at::kDouble) * edges[n - 1];
    const auto drawn = at::searchsorted(edges, u, /*out_int32=*/false, /*right=*/true);
    // How often each was drawn, [n]; one that is no number counts as drawn. (bincount would ask the
    // device for the largest.)
    auto times = scores.isfinite().logical_not().to(at::kLong);
    times.scatter_add_(0, drawn.clamp(0, n - 1), at::ones_like(drawn));
    const auto index = times.nonzero().flatten();
    const auto scale =
        times.index_select(0, index) / (p.index_select(0, index) * static_cast<double>(k));
    return {.index = index, .scale = scale.to(at::kFloat)};
  }

  const double mix_;
};

REGISTER_METHOD("crs", Crs)
    .about("column-row pairs drawn with replacement by norm product, unbiased")
    .from_paper("adelman2021", "section 2.2")
    .with(SamplingMethod::declare)
    .in_half_version(3)
    .controlled_by("crs:mix=1")  // as many draws, with replacement
    .param({"mix", 0.0, "share of the uniform distribution in the probabilities", 0, 1});

}  // namespace
}  // namespace approx
