// topk_weights: the pairs whose weights have the largest norm, unscaled (Adelman et al. 2021,
// section 6, "top-k-weights"): no pass over the activations, and on many workers one choice.
// Examples have no weights, so the weight gradient cannot be sampled on its own.
#include "core/methods/sampling.h"
#include "kernels/select/select.h"

namespace approx {
namespace {

class TopkWeights final : public SamplingMethod {
 public:
  using SamplingMethod::SamplingMethod;

  bool follows_weights() const override { return true; }

 private:
  Sampled choose(const at::Tensor& scores, int64_t k, const Rng&) const override {
    return {.index = largest(scores, k)};
  }

  at::Tensor scores(const Operands& o, Axis axis) const override {
    return axis == Axis::kOutputChannels ? slice_norms(o.w, 0) : input_channel_norms(o);
  }
};

REGISTER_METHOD("topk_weights", TopkWeights)
    .about("the column-row pairs of largest weight norm, unscaled")
    .from_paper("adelman2021", "section 6")
    .in_version(2)
    .rounding_from(1)  // sums are added up otherwise
    .with(SamplingMethod::declare)
    .without_mode("backward")
    .without_mode("weight_gradient")
    .controlled_by("uniform_crs")
    .in_half_version(2);

}  // namespace
}  // namespace approx
