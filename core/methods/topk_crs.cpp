// topk_crs: the pairs of largest score, unscaled (Adelman, Levy, Hakimi & Silberstein 2021,
// section 6, Theorem 2). Biased by design. Ties go to the lower index: the published code's
// order among equals is undefined.
#include "core/methods/sampling.h"
#include "kernels/select/select.h"

namespace approx {
namespace {

class TopkCrs final : public SamplingMethod {
 public:
  using SamplingMethod::SamplingMethod;

 private:
  Sampled choose(const at::Tensor& scores, int64_t k, const Rng&) const override {
    return {.index = largest(scores, k)};
  }
};

REGISTER_METHOD("topk_crs", TopkCrs)
    .about("the column-row pairs of largest norm product, unscaled")
    .from_paper("adelman2021", "section 6")
    .in_version(2)
    .rounding_from(1)  // sums are added up otherwise
    .with(SamplingMethod::declare)
    .controlled_by("uniform_crs")
    .in_half_version(2);

}  // namespace
}  // namespace approx
