// uniform_crs: k of the n column-row pairs, any of them with equal chances and none twice, each
// scaled by n / k. Unbiased. Looks at no operand: what a method that scores the pairs must beat at
// the same density (sweep --controls random). Adelman et al. 2021 sample uniformly in their code's
// variants, not in the paper.
#include <ATen/ATen.h>

#include "core/methods/sampling.h"
#include "kernels/draws.h"

namespace approx {
namespace {

class UniformCrs final : public SamplingMethod {
 public:
  using SamplingMethod::SamplingMethod;

 private:
  Sampled choose(const at::Tensor& scores, int64_t k, const Rng& rng) const override {
    const int64_t n = scores.numel();
    const double scale = static_cast<double>(n) / static_cast<double>(k);
    return {.index = subset_draws(rng, n, k, scores.device()),
            .scale = at::full({k}, scale, scores.options().dtype(at::kFloat))};
  }

  // All alike, so that no norm is computed; what is no number stays where its pair is taken.
  at::Tensor scores(const Operands& o, Axis axis) const override {
    const auto& input = o.x.defined() ? o.x : o.dy;
    return at::ones({length_of(axis, o)}, input.options().dtype(at::kDouble));
  }
};

REGISTER_METHOD("uniform_crs", UniformCrs)
    .about("column-row pairs drawn with equal chances, unbiased: the control of the others")
    .with(SamplingMethod::declare);

}  // namespace
}  // namespace approx
