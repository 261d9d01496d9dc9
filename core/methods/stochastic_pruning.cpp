// stochastic_pruning: small activation gradients become zero or a threshold, at random and without
// bias (Ye, Dai, Luo et al. 2020, ye2020, section 3.2, Algorithm 1). With tau the threshold, an
// entry g below it in magnitude becomes sign(g) * tau with probability |g| / tau, else 0.
//
// tau = Phi^-1((1 + p) / 2) * sigma, with one sigma for a layer and batch, estimated as if the
// gradients were normal of mean 0 (section 3.2). p is not the sparsity: of normal gradients the
// share that stays is 0.62 at p = 0.7 and 0.31 at p = 0.99. Differences from the text:
//   Eq. 2 prints sigma = sqrt(2/pi) * mean|g|. E|g| = sqrt(2/pi) * sigma, so the estimate without
//   bias is sqrt(pi/2) * mean|g|: the default; `sigma=printed` is Eq. 2 to the letter.
//   Eq. 4 prints Phi^-1((1 - p) / 2), the same number below zero.
//
// `statistics=previous` takes the layer's mean of the step before (the first step's own): then a
// gradient is pruned while it is written. It stays without bias: tau may be any number.
//
// Where (section 3.2, Figure 1): in Conv-BN-ReLU dY of the convolution is pruned, for both its
// gradients; in Conv-ReLU, where dY has the zeros of the ReLU already, dX is pruned once computed.
// `placement=auto` goes by whether a batch normalisation follows the layer.
#include <ATen/ATen.h>

#include <cmath>
#include <numbers>

#include "core/methods/pruning.h"
#include "kernels/select/select.h"

namespace approx {
namespace {

class StochasticPruning final : public PruningMethod {
 public:
  explicit StochasticPruning(const Params& params)
      : by_last_step_(params.text("statistics") == "previous") {
    const auto& placement = params.text("placement");
    if (placement != "auto") on_output_ = placement == "output";
    const auto p = at::scalar_tensor(params.real("p"), at::kDouble);
    const double normal = std::numbers::sqrt2 * at::erfinv(p).item<double>();
    const bool printed = params.text("sigma") == "printed";
    tau_per_mean_ = normal * std::sqrt(printed ? 2 / std::numbers::pi : std::numbers::pi / 2);
  }

  at::Tensor* memory() override { return by_last_step_ ? &last_mean_ : nullptr; }

  std::optional<GradientRequest> look(const MethodCall& call) override {
    if (!prunes_dy(call)) return std::nullopt;
    if (!last_mean_.defined()) return GradientRequest();
    return GradientRequest{call.scaled(last_mean_ * tau_per_mean_, at::kFloat), call.rng};
  }

  Finished finish(const Operands& o, at::Tensor dx, const MethodCall& call) override {
    if (o.product != Product::kDataGradient || prunes_dy(call)) return {std::move(dx), {}};
    const bool ours = dx.use_count() == 1;
    auto pruned = pruned_once_whole(std::move(dx), ours, call);
    return {std::move(pruned.dy), std::move(pruned.kept)};
  }

 private:
  Plan prune(const Operands& o, const MethodCall& call) override {
    if (!prunes_dy(call)) return Dense{};
    if (call.seen == nullptr || !call.seen->kept.defined()) {
      return pruned_once_whole(o.dy, call.may_overwrite, call);
    }
    remember(call.seen->mean, call);
    return PrunedDY{o.dy, call.seen->kept};
  }

  bool prunes_dy(const MethodCall& call) const { return on_output_.value_or(call.norm_follows); }

  PrunedDY pruned_once_whole(at::Tensor g, bool may_overwrite, const MethodCall& call) {
    if (g.numel() == 0) return counted(std::move(g));
    const auto mean = call.seen != nullptr ? call.seen->mean : mean_magnitude(g);
    const auto by = last_mean_.defined() ? call.scaled(last_mean_, at::kFloat) : mean;
    const auto tau = by * tau_per_mean_;
    remember(mean, call);
    return may_overwrite ? stochastic_pruned_over(std::move(g), tau, call.rng)
                         : stochastic_pruned(g, tau, call.rng);
  }

  // For the next step, in the same place. A step that overflows is passed over and leaves no trace.
  void remember(const at::Tensor& mean, const MethodCall& call) {
    if (!by_last_step_) return;
    const auto now = call.unscaled(mean);
    if (!last_mean_.defined()) last_mean_ = now;
    last_mean_.copy_(at::where(now.isfinite(), now, last_mean_));
  }

  const bool by_last_step_;
  std::optional<bool> on_output_;  // nothing: as a batch norm follows or not
  double tau_per_mean_ = 0;        // tau over the mean magnitude
  at::Tensor last_mean_;           // of the step before, in the units of the loss; [] float
};

REGISTER_METHOD("stochastic_pruning", StochasticPruning)
    .about("small entries of the activation gradient become zero or a threshold, unbiased")
    .from_paper("ye2020", "section 3.2")
    .in_version(2)
    .rounding_from(1)  // sums are added up otherwise
    .approximates({Product::kDataGradient, Product::kWeightGradient})
    .in_half_version(3)
    .controlled_by("random_entries")
    .at_its_density()
    .param({"p", 0.9, "share of normal gradients that lies below the threshold", 0, 0.999999})
    .param(
        {.name = "placement",
         .fallback = std::string("auto"),
         .help = "prune dY (output), dX once computed (input), or as a batch norm follows or not",
         .choices = {"auto", "output", "input"}})
    .param({.name = "sigma",
            .fallback = std::string("unbiased"),
            .help = "estimate of the standard deviation: without bias, or as Eq. 2 prints it",
            .choices = {"unbiased", "printed"}})
    .param({.name = "statistics",
            .fallback = std::string("step"),
            .help = "whose mean magnitude sets the threshold: of the gradient itself, or of the "
                    "layer's last one, which is known before the gradient is",
            .choices = {"step", "previous"},
            .added_later = true});

}  // namespace
}  // namespace approx
