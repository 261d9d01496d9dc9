// vcas: whole examples are left out of the backward pass, SampleA and SampleW of VCAS (Wang, Chen &
// Zhu 2024, "Efficient Backpropagation with Variance-Controlled Adaptive Sampling", section 4), at
// ratios that are fixed or controlled.
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
// Control. With a tolerance above 0 a layer has these ratios until the first measurement. Every so
// many steps a training then measures what the draws add to the variance of the gradient, and sets
// the ratios of each layer (section 5; core/train/variance_control.h). So this file only notes what
// the measurement asks for.
//
// Departures. The paper samples blocks alone; here layers sample, too, whose dY has more examples
// than their k. If nothing is drawn, the gradients are zero; the published code then takes all
// examples unscaled, which is not unbiased. Published code adds 1e-9 to chances and sums.
#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>
#include <vector>

#include "core/methods/method.h"
#include "core/methods/variance_controlled.h"
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
  // 29 / 100 * 100 is a little less than 29.
  const double share = std::floor(static_cast<double>(count) * ratio + 1e-9);
  return std::max<int64_t>(1, static_cast<int64_t>(share));
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

class Vcas final : public Method, public VarianceControlled {
 public:
  explicit Vcas(const Params& params)
      : tolerance_(params.real("tolerance")),
        every_(params.integer("every")),
        drops_(params.choice<DropAtNorms>("norm") == DropAtNorms::kDrop),
        equal_(params.choice<ExampleChances>("chances") == ExampleChances::kEqual),
        blocks_(params.flag("blocks")),
        ratios_{.examples = params.real("ratio"), .weights = params.real("weight_ratio")} {}

  Plan plan(const Operands& o, const MethodCall& call) override {
    if (pass_ == Pass::kExact) {
      norms_.push_back(slice_norms(o.dy, 0));
      return Dense{};
    }
    // Both gradients use one sample, whichever is asked for.
    Rng common = call.rng;
    common.product = Product::kDataGradient;
    Plan examples = sampled(o, call, common);
    if (plans_once() || o.product != Product::kWeightGradient || !is_linear(o)) return examples;
    if (pass_ == Pass::kTraining) return sampled_again(o, std::move(examples), call.rng);
    note_second_sample(o, examples);
    return examples;
  }

  bool plans_once() const override { return ratios_.weights == 1; }
  std::string_view waits_for() const override { return "how many examples its draws keep"; }
  std::optional<double> drops_examples() const override {
    return drops_ ? std::optional(ratios_.examples) : std::nullopt;
  }
  bool samples_blocks() const override { return blocks_; }

  double tolerance() const override { return tolerance_; }
  int64_t every() const override { return every_; }
  ExampleRatios ratios() const override { return ratios_; }
  void set_ratios(const ExampleRatios& ratios) override { ratios_ = ratios; }
  void begin_pass(Pass pass) override { pass_ = pass; }
  std::vector<at::Tensor> take_norms() override { return std::exchange(norms_, {}); }
  double take_weight_variance() override {
    const auto sum = std::exchange(weight_variance_, {});
    return sum.defined() ? sum.item<double>() : 0;
  }

 private:
  // SampleA.
  Plan sampled(const Operands& o, const MethodCall& call, const Rng& rng) const {
    if (call.alive != nullptr && call.alive->ratio <= ratios_.examples) {
      return Sampled{.axis = Axis::kExamples, .index = call.alive->index, .scale = {}};
    }
    const int64_t n = o.dy.size(0), k = share_of(n, ratios_.examples);
    if (k >= n) return Dense{};
    return drawn_examples(scores(slice_norms(o.dy, 0)), k, rng);
  }

  // What the second sample goes by, and how many it takes. Nothing if it would take all.
  struct Second {
    at::Tensor norms;  // of the examples that stayed, in their order
    int64_t k;
  };
  std::optional<Second> second(const Operands& o, const Plan& examples) const {
    const auto* stayed = std::get_if<Sampled>(&examples);
    const int64_t alive = stayed == nullptr ? o.dy.size(0) : stayed->index.numel();
    if (alive == 0) return std::nullopt;
    const int64_t k = share_of(alive, ratios_.weights);
    if (k >= alive) return std::nullopt;
    auto norms = slice_norms(o.x, 0) * slice_norms(o.dy, 0);
    if (stayed != nullptr) {
      norms = norms.index_select(0, stayed->index);
      if (stayed->scale.defined()) norms = norms * stayed->scale;
    }
    return Second{std::move(norms), k};
  }

  // SampleW, of the examples that stayed.
  Plan sampled_again(const Operands& o, Plan examples, const Rng& rng) const {
    const auto second_sample = second(o, examples);
    if (!second_sample) return examples;
    auto again = drawn_examples(scores(second_sample->norms), second_sample->k, rng);
    const auto* stayed = std::get_if<Sampled>(&examples);
    if (stayed == nullptr) return again;
    if (stayed->scale.defined()) {
      again.scale = again.scale * stayed->scale.index_select(0, again.index);
    }
    again.index = stayed->index.index_select(0, again.index);
    return again;
  }

  // What SampleW would add. One example's part of the weight gradient of a linear layer has the
  // norm |dY_i| |X_i|.
  void note_second_sample(const Operands& o, const Plan& examples) {
    const auto second_sample = second(o, examples);
    if (!second_sample) return;
    const auto& [norms, k] = *second_sample;
    const auto p = capped_chances(scores(norms), k);
    const auto added =
        at::where(p > 0, (p.reciprocal() - 1) * norms.square(), at::zeros_like(p)).sum();
    weight_variance_ = weight_variance_.defined() ? weight_variance_ + added : added;
  }

  // What the chances go by. With equal chances that is whether there is a gradient at all.
  at::Tensor scores(const at::Tensor& norms) const {
    if (!equal_) return norms;
    return norms.masked_fill((norms > 0).logical_and(norms.isfinite()), 1);
  }

  const double tolerance_;
  const int64_t every_;
  const bool drops_, equal_, blocks_;
  ExampleRatios ratios_;
  Pass pass_ = Pass::kTraining;
  std::vector<at::Tensor> norms_;
  at::Tensor weight_variance_;  // [] double; undefined: nothing was noted
};

REGISTER_METHOD("vcas", Vcas)
    .about("whole examples stay by the norm of their gradient; the others are left out")
    .from_paper("wang2024", "section 4")
    .in_version(2)  // the number of examples that a ratio gives is not rounded below it
    .approximates({Product::kDataGradient, Product::kWeightGradient})
    .controlled_by("vcas:chances=equal")
    .param({"ratio", 0.5,
            "share of the examples that stays on average; with a tolerance, until the first "
            "measurement",
            0.001, 1})
    .param({"weight_ratio", 1.0, "share of these that the weight gradient of a linear layer takes",
            0.001, 1})
    .param({.name = "tolerance",
            .fallback = 0.0,
            .help = "how much the draws may add to the variance between batches, as a share of it; "
                    "ratios follow from it. 0: they are fixed",
            .min = 0,
            .max = 1000,
            .added_later = true})
    .param({.name = "every",
            .fallback = int64_t{100},
            .help = "with a tolerance: steps from one measurement to the next",
            .min = 1,
            .added_later = true})
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
