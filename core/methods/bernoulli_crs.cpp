// bernoulli_crs: every pair is taken or left by a draw of its own, with p_i = min(k s_i / sum s,
// 1), scaled by 1 / p_i (Adelman et al. 2021, section 4, Eqs. 15 and 16). Unbiased; k pairs on
// average where no p_i is cut at 1, fewer otherwise. Nothing drawn is a product of zero; the
// published code takes the first k pairs then, which is not unbiased. The published code's p_i is
// 0.9 of that and 0.1/n more (`mix=0.1`); the paper's is not.
#include <ATen/ATen.h>

#include "core/methods/sampling.h"
#include "kernels/draws.h"

namespace approx {
namespace {

class BernoulliCrs final : public SamplingMethod {
 public:
  explicit BernoulliCrs(const Params& params) : SamplingMethod(params), mix_(params.real("mix")) {}

  std::string_view waits_for() const override { return "how many pairs its draws take"; }

 private:
  Sampled choose(const at::Tensor& scores, int64_t k, const Rng& rng) const override {
    const auto n = static_cast<double>(scores.numel());
    const auto total = scores.sum();
    const auto share = at::where(total > 0, scores / total, at::zeros_like(scores));
    const auto p = (share * static_cast<double>(k)).clamp_max(1) * (1 - mix_) + mix_ / n;
    const auto u = uniform_draws(rng, {scores.numel()}, scores.device());
    const auto index = (u < p).logical_or(scores.isfinite().logical_not()).nonzero().flatten();
    return {.index = index, .scale = p.index_select(0, index).reciprocal().to(at::kFloat)};
  }

  const double mix_;
};

REGISTER_METHOD("bernoulli_crs", BernoulliCrs)
    .about("column-row pairs drawn independently by norm product, unbiased")
    .from_paper("adelman2021", "section 4")
    .with(SamplingMethod::declare)
    .in_half_version(3)
    .controlled_by("uniform_crs")
    .param({"mix", 0.0, "share of the uniform distribution in the probabilities", 0, 1});

}  // namespace
}  // namespace approx
