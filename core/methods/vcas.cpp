// vcas: whole examples are left out of the backward pass, SampleA and SampleW of VCAS (Wang, Chen &
// Zhu 2024, "Efficient Backpropagation with Variance-Controlled Adaptive Sampling", section 4), at
// fixed ratios.
//
// SampleA. Of the N examples of dY, example i stays with chance p_i = min(1, c |dY_i|) and is
// divided by p_i. Each is drawn by itself; c is such that the chances add up to k = floor(ratio N),
// at least 1. If k examples or fewer have a gradient, all of them stay. Both gradients are those of
// the sampled dY, so they are unbiased. dX of the other examples is zero.
//
// SampleW. In a linear layer the weight gradient takes a second sample: of the K examples that
// stayed, example i with chance q_i, by |dY_i| |X_i| in place of |dY_i| and floor(weight_ratio K)
// in place of k. It is divided by q_i too.
//
// Batch norm. Its backward pass adds means over the batch to every example, so that those which
// were left out have a gradient again.
//   norm=resample  the layer before it samples all examples again. Unbiased.
//   norm=drop      examples whose gradient is zero behind the norm stay so. The means are those of
//                  all N examples. Biased. Layers below work on the examples that stayed; they
//                  sample again only if their ratio is lower.
//
// Blocks. The gradient of the output of a residual block is sampled before it enters the branch and
// the shortcut, if the last layer of the branch has this method. With norm=drop the layers of the
// branch then work on that sample. With blocks=false the shortcut has all examples.
//
// Departures. The paper samples blocks alone; here layers sample, too, whose dY has more examples
// than their k. Its controller, which adapts the ratios so that the variance of both samples
// stays below a share of the batch's, is not here: the ratios are fixed. If nothing is drawn, the
// gradients are zero; the published code then takes all examples unscaled, which is not unbiased.
// Published code adds 1e-9 to chances and sums.
#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>

#include "core/methods/method.h"
#include "kernels/draws.h"
#include "kernels/select/select.h"

namespace approx {
namespace {

enum class DropAtNorms { kResample, kDrop };

constexpr auto enum_texts(DropAtNorms) {
  return std::to_array<EnumText<DropAtNorms>>(
      {{DropAtNorms::kResample, "resample"}, {DropAtNorms::kDrop, "drop"}});
}

enum class ExampleChances { kNorm, kEqual };

constexpr auto enum_texts(ExampleChances) {
  return std::to_array<EnumText<ExampleChances>>(
      {{ExampleChances::kNorm, "norm"}, {ExampleChances::kEqual, "equal"}});
}

int64_t share_of(int64_t count, double ratio) {
  return std::max<int64_t>(1, static_cast<int64_t>(std::floor(static_cast<double>(count) * ratio)));
}

// min(1, c s_i) for scores s [n] double, where c makes the sum k; 1 for all scores above 0 if there
// are k or fewer. 1 <= k <= n.
at::Tensor capped_chances(const at::Tensor& scores, int64_t k) {
  const auto falling = std::get<0>(scores.sort(0, /*descending=*/true));
  // The sum of all from each on. Adding from the smallest keeps small ones exact.
  const auto rest = falling.flip(0).cumsum(0).flip(0).narrow(0, 0, k);
  const auto left = k - at::arange(k, rest.options());  // places, if so many stay for sure
  // The first at which the next one need not stay for sure; at the last of the k that is always so.
  const auto fits = falling.narrow(0, 0, k) * left <= rest;
  const auto sure = fits.to(at::kInt).argmax(0, /*keepdim=*/true);
  const auto c = (left / rest).index_select(0, sure);
  return at::where(scores > 0, (scores * c).clamp_max(1), at::zeros_like(scores));
}

// Draws each example by its chance. Returns the places of those that were drawn, and 1/p of them.
// One whose score is not finite always stays, unscaled.
Sampled drawn_examples(const at::Tensor& scores, int64_t k, const Rng& rng) {
  const int64_t n = scores.numel();
  const auto no_number = scores.isfinite().logical_not();
  const auto p = capped_chances(scores.masked_fill(no_number, 0), k).masked_fill_(no_number, 1);
  const auto u = draws_among(rng, n, {n}, scores.device());
  const auto index = (u < p).nonzero().flatten();
  return {.axis = Axis::kExamples,
          .index = index,
          .scale = p.index_select(0, index).reciprocal().to(at::kFloat)};
}

bool is_linear(const Operands& o) {
  return o.input_sizes[2] * o.input_sizes[3] * o.w.size(2) * o.w.size(3) == 1;
}

class Vcas final : public Method {
 public:
  explicit Vcas(const Params& params)
      : ratio_(params.real("ratio")),
        weight_ratio_(params.real("weight_ratio")),
        drops_(params.choice<DropAtNorms>("norm") == DropAtNorms::kDrop),
        equal_(params.choice<ExampleChances>("chances") == ExampleChances::kEqual),
        blocks_(params.flag("blocks")) {}

  Plan plan(const Operands& o, const MethodCall& call) override {
    // Both gradients use one sample, whichever is asked for.
    Rng common = call.rng;
    common.product = Product::kDataGradient;
    Plan examples = sampled(o, call, common);
    if (o.product != Product::kWeightGradient || weight_ratio_ == 1 || !is_linear(o)) {
      return examples;
    }
    return sampled_again(o, std::move(examples), call.rng);
  }

  bool plans_once() const override { return weight_ratio_ == 1; }
  std::string_view waits_for() const override { return "how many examples its draws keep"; }
  std::optional<double> drops_examples() const override {
    return drops_ ? std::optional(ratio_) : std::nullopt;
  }
  bool samples_blocks() const override { return blocks_; }

 private:
  // SampleA.
  Plan sampled(const Operands& o, const MethodCall& call, const Rng& rng) const {
    if (call.alive != nullptr && call.alive->ratio <= ratio_) {
      return Sampled{.axis = Axis::kExamples, .index = call.alive->index, .scale = {}};
    }
    const int64_t n = o.dy.size(0), k = share_of(n, ratio_);
    if (k >= n) return Dense{};
    return drawn_examples(scores(slice_norms(o.dy, 0)), k, rng);
  }

  // SampleW, of the examples that stayed.
  Plan sampled_again(const Operands& o, Plan examples, const Rng& rng) const {
    const auto of_x = slice_norms(o.x, 0), of_dy = slice_norms(o.dy, 0);
    auto* stayed = std::get_if<Sampled>(&examples);
    const int64_t alive = stayed == nullptr ? o.dy.size(0) : stayed->index.numel();
    if (alive == 0) return examples;
    const int64_t k = share_of(alive, weight_ratio_);
    if (k >= alive) return examples;
    auto norms = of_x * of_dy;
    if (stayed != nullptr) {
      norms = norms.index_select(0, stayed->index);
      if (stayed->scale.defined()) norms = norms * stayed->scale;
    }
    auto again = drawn_examples(scores(norms), k, rng);
    if (stayed == nullptr) return again;
    if (stayed->scale.defined()) {
      again.scale = again.scale * stayed->scale.index_select(0, again.index);
    }
    again.index = stayed->index.index_select(0, again.index);
    return again;
  }

  // What the chances go by. With equal chances that is whether there is a gradient at all.
  at::Tensor scores(const at::Tensor& norms) const {
    if (!equal_) return norms;
    return norms.masked_fill((norms > 0).logical_and(norms.isfinite()), 1);
  }

  const double ratio_, weight_ratio_;
  const bool drops_, equal_, blocks_;
};

REGISTER_METHOD("vcas", Vcas)
    .about("whole examples stay by the norm of their gradient; the others are left out")
    .from_paper("wang2024", "section 4")
    .approximates({Product::kDataGradient, Product::kWeightGradient})
    .controlled_by("vcas:chances=equal")
    .param({"ratio", 0.5, "share of the examples that stays on average", 0.001, 1})
    .param({"weight_ratio", 1.0, "share of these that the weight gradient of a linear layer takes",
            0.001, 1})
    .param({"blocks", true,
            "the gradient of a residual block's output is sampled, before it enters the shortcut"})
    .param({.name = "norm",
            .fallback = std::string(name(DropAtNorms::kResample)),
            .help = "examples that were left out: come back at a batch norm and are sampled again, "
                    "or stay out",
            .choices = names_of_enum<DropAtNorms>()})
    .param({.name = "chances",
            .fallback = std::string(name(ExampleChances::kNorm)),
            .help = "of an example: by the norm of its gradient, or all equal",
            .choices = names_of_enum<ExampleChances>()});

}  // namespace
}  // namespace approx
