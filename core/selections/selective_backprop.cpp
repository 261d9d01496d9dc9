// selective_backprop: trains on candidates drawn by the rank of their losses.
//
// Jiang et al. 2019, "Accelerating Deep Learning by Focusing on the Biggest Losers", as Composer's
// library has it: a forward pass without a gradient gives the loss of every candidate. A candidate
// of the i-th lowest of B losses (i from 0) gets the chance ((i + 1/2) / B)^(1 / ratio - 1), up to
// a constant. int(ratio B) candidates are drawn by these chances without replacement. The losses
// are not weighted, so the gradient is biased towards large losses.
//
// - The paper draws each candidate by itself, by its percentile among recent losses. The number of
//   drawn examples then changes from step to step; ours is fixed, as in Composer.
// - The forward pass computes as an evaluation does, with the running statistics of the norms, and
//   changes nothing. Composer's computes as in training and changes those statistics.
// - Composer selects between 0.5 and 0.9 of the training, and leaves every second batch whole. Ours
//   selects in every step.
// - A draw without replacement takes the largest of log(p_i) - log(-log(u_i)), u_i uniform, which
//   has the distribution of drawing one after the other (Gumbel's trick) and needs no loop.
#include <ATen/ATen.h>

#include "core/selections/selection.h"

namespace approx {
namespace {

class SelectiveBackprop final : public BatchSource {
 public:
  explicit SelectiveBackprop(const Params& params) : ratio_(params.real("ratio")) {}

  ScoredBy scored_by() const override { return ScoredBy::kNetwork; }

  int64_t least_kept(const SourceSizes& sizes) const override {
    return share_of(ratio_, sizes.batch);
  }

  at::Tensor choose(const BatchCall& call) override {
    const auto count = call.losses.size(0);
    // Equal losses rank by position, on every device.
    const auto rank = call.losses.argsort(/*stable=*/true).argsort(/*stable=*/true);  // [B]
    const auto percentile = rank.to(at::kFloat).add_(0.5).div_(count);
    const auto log_chance = percentile.log_().mul_(1 / ratio_ - 1);
    const auto key = log_chance.sub_(call.uniform.log().neg_().log_());
    return key.argsort(/*stable=*/true, 0, /*descending=*/true).narrow(0, 0, call.kept);
  }

 private:
  const double ratio_;
};

REGISTER_SELECTION("selective_backprop", SelectiveBackprop)
    .about("candidates drawn by the rank of their losses, which an extra forward pass computes")
    .from_paper("jiang2019", "section 3")
    .param(ratio_param(0.5));

}  // namespace
}  // namespace approx
