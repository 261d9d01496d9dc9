// stochastic_pruning: small activation gradients become zero or a threshold, at random and without
// bias (Ye, Dai, Huang et al. 2020, ye2020, section 3.2, Algorithm 1). With tau the threshold, an
// entry g below it in magnitude becomes sign(g) * tau with probability |g| / tau, else 0.
//
// tau = Phi^-1((1 + p) / 2) * sigma, with one sigma for a layer and batch, estimated as if the
// gradients were normal of mean 0 (section 3.2). p is not the sparsity: of normal gradients the
// share that stays is 0.62 at p = 0.7 and 0.31 at p = 0.99. Differences from the text:
//   Eq. 2 prints sigma = sqrt(2/pi) * mean|g|. E|g| = sqrt(2/pi) * sigma, so the estimate without
//   bias is sqrt(pi/2) * mean|g|: the default; `sigma=printed` is Eq. 2 to the letter.
//   Eq. 4 prints Phi^-1((1 - p) / 2), the same number below zero.
//
// Where (section 3.1, Figure 1): in Conv-BN-ReLU dY of the convolution is pruned, for both its
// gradients; in Conv-ReLU, where dY has the zeros of the ReLU already, dX is pruned once computed,
// before it reaches the layer below. `placement=auto` goes by whether a batch normalisation follows
// the layer.
#include <ATen/ATen.h>

#include <array>
#include <cmath>
#include <numbers>

#include "core/methods/pruning.h"
#include "kernels/select/select.h"

namespace approx {
namespace {

enum class Placement { kAuto, kOutput, kInput };
constexpr auto enum_texts(Placement) {
  return std::to_array<EnumText<Placement>>(
      {{Placement::kAuto, "auto"}, {Placement::kOutput, "output"}, {Placement::kInput, "input"}});
}

class StochasticPruning final : public PruningMethod {
 public:
  explicit StochasticPruning(const Params& params)
      : placement_(params.choice<Placement>("placement")) {
    const double normal =
        std::numbers::sqrt2 *
        at::erfinv(at::scalar_tensor(params.real("p"), at::kDouble)).item<double>();
    const double per_mean = params.text("sigma") == "printed" ? std::sqrt(2 / std::numbers::pi)
                                                              : std::sqrt(std::numbers::pi / 2);
    tau_per_mean_ = normal * per_mean;
  }

  Finished finish(const Operands& o, at::Tensor result, const MethodCall& call) override {
    if (o.product != Product::kDataGradient || prunes_output(call)) return {std::move(result), {}};
    const auto pruned = stochastic_pruned(result, threshold(result), call.rng);
    return {pruned.dy, pruned.kept};
  }

 private:
  Plan prune(const Operands& o, const MethodCall& call) override {
    if (!prunes_output(call)) return Dense{};
    return stochastic_pruned(o.dy, threshold(o.dy), call.rng);
  }

  bool prunes_output(const MethodCall& call) const {
    return placement_ == Placement::kOutput ||
           (placement_ == Placement::kAuto && call.norm_follows);
  }

  at::Tensor threshold(const at::Tensor& g) const {
    if (g.numel() == 0) return at::zeros({}, g.options().dtype(at::kFloat));
    return plane_magnitude(g).sum().to(at::kFloat) *
           (tau_per_mean_ / static_cast<double>(g.numel()));
  }

  const Placement placement_;
  double tau_per_mean_ = 0;  // tau over the mean magnitude
};

REGISTER_METHOD("stochastic_pruning", StochasticPruning)
    .about("small entries of the activation gradient become zero or a threshold, unbiased")
    .from_paper("ye2020", "section 3.2")
    .approximates({Product::kDataGradient, Product::kWeightGradient})
    .in_half_version(2)
    .controlled_by("random_entries")
    .at_its_density()
    .param({"p", 0.9, "share of normal gradients that lies below the threshold", 0, 0.999999})
    .param(
        {.name = "placement",
         .fallback = std::string("auto"),
         .help = "prune dY (output), dX once computed (input), or as a batch norm follows or not",
         .choices = names_of_enum<Placement>()})
    .param({.name = "sigma",
            .fallback = std::string("unbiased"),
            .help = "estimate of the standard deviation: without bias, or as Eq. 2 prints it",
            .choices = {"unbiased", "printed"}});

}  // namespace
}  // namespace approx
