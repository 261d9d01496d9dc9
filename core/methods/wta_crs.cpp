// wta_crs: winner-take-all column-row sampling (Liu, Wang, Zhong et al. 2023, "Winner-Take-All
// Column Row Sampling for Memory Efficient Adaptation of Language Model"). Of the k pairs that are
// taken, the d most likely are the head: all of them are taken, unscaled. The other k - d are drawn
// with replacement from the tail, by their probabilities there, and scaled so that the sum is
// unbiased. With p_i the share of pair i of all scores and P the sum of the head's, a pair of the
// tail has the factor (1 - P) / (p_i (k - d)) for each time that it was drawn.
//
// d is what makes (1 - P) / (k - d) least, from 0 to k - 1; of equal ones the smallest. At d = 0
// the estimate is that of crs. Where the head has more than d/k of the scores, the paper shows a
// variance below that of crs. If k pairs or fewer have a score, all of these are taken and the
// product is exact.
//
// The paper samples the weight gradient alone, over examples (its tokens): the default. The other
// modes are those of the family.
//
// Departures. The paper samples in the forward pass, to keep less of x, when dY is not known yet.
// It uses the norm of an example's dY from its last visit. Here the sample is drawn in the backward
// pass, by the norm of the present dY, and all of x is kept.
#include <ATen/ATen.h>

#include "core/methods/sampling.h"
#include "kernels/draws.h"
#include "kernels/select/select.h"

namespace approx {
namespace {

class WtaCrs final : public DrawingMethod {
 public:
  using DrawingMethod::DrawingMethod;

  static void declare(MethodEntry& entry) {
    entry.with(DrawingMethod::declare);
    for (auto& spec : entry.params) {
      if (spec.name == MethodEntry::kMode) {
        spec.fallback = std::string(name(Mode::kWeightGradient));
      }
    }
  }

 private:
  Sampled choose(const at::Tensor& scores, int64_t k, const Rng& rng) const override {
    const int64_t n = scores.numel();
    const auto p = shares(scores);
    const auto [falling, order] = p.sort(/*stable=*/true, 0, /*descending=*/true);
    const auto d = head_size(falling, k);
    const auto places = at::arange(n, order.options());
    const auto in_head = at::empty_like(order).scatter_(0, order, places) < d;
    const auto tail = p.masked_fill(in_head, 0), edges = tail.cumsum(0);
    // k draws, of which the first k - d count: no shape may depend on d.
    const auto u = draws_among(rng, n, {k}, scores.device()).to(at::kDouble) * edges[n - 1];
    const auto drawn = at::searchsorted(edges, u, /*out_int32=*/false, /*right=*/true);
    const auto counts = at::arange(k, order.options()) < k - d;
    auto times = at::zeros_like(order);
    times.scatter_add_(0, drawn.clamp(0, n - 1), counts.to(at::kLong));
    times = times.masked_fill(tail == 0, 0);
    const auto factor = (times * (edges[n - 1] / (k - d)) / p).masked_fill(times == 0, 0);
    // A pair that is no number counts as one of the head.
    const auto no_number = scores.isfinite().logical_not();
    const auto sure = in_head.logical_and(p > 0).logical_or(no_number);
    const auto scale = at::where(sure, at::ones_like(factor), factor);
    const auto taken = sure.logical_or(times > 0);
    const auto index =
        has_fixed_size() ? with_others(taken, no_number, k) : taken.nonzero().flatten();
    return {.index = index, .scale = scale.index_select(0, index).to(at::kFloat)};
  }

  // d as a number on the device, [] int64.
  static at::Tensor head_size(const at::Tensor& falling, int64_t k) {
    // The sum of all from each pair on. Adding from the smallest keeps a small tail exact.
    const auto rest = falling.flip(0).cumsum(0).flip(0).narrow(0, 0, k);
    const auto places = k - at::arange(k, rest.options());
    return (rest / places).argmin(0);
  }

  // k pairs: what is no number first, then what was taken, then others at scale 0.
  static at::Tensor with_others(const at::Tensor& taken, const at::Tensor& no_number, int64_t k) {
    return largest(taken.to(at::kDouble).masked_fill(no_number, INFINITY), k);
  }
};

REGISTER_METHOD("wta_crs", WtaCrs)
    .about("the likeliest column-row pairs, and draws from the others, unbiased")
    .from_paper("liu2023", "section 3.2")
    .with(WtaCrs::declare)
    .controlled_by("wta_crs:mix=1");  // as many draws, with replacement

}  // namespace
}  // namespace approx
