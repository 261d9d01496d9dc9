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
// `statistics=previous` takes the mean of the layer's gradient of the step before (the first step's
// own), so that a gradient is pruned while it is written, in no pass of its own. A gradient is then
// judged by numbers that are a step old, and stays without bias: tau may be any number.
//
// Where (section 3.2, Figure 1): in Conv-BN-ReLU dY of the convolution is pruned, for both its
// gradients; in Conv-ReLU, where dY has the zeros of the ReLU already, dX is pruned once computed,
// before it reaches the layer below. `placement=auto` goes by whether a batch normalisation follows
// the layer.
#include <ATen/ATen.h>

#include <array>
#include <atomic>
#include <cmath>
#include <numbers>
#include <numeric>

#include "core/methods/pruning.h"
#include "kernels/numbers_of.h"
#include "kernels/select/magnitude.h"
#include "kernels/select/pruned.h"
#include "kernels/select/select.h"

namespace approx {
namespace {

enum class Placement { kAuto, kOutput, kInput };
constexpr auto enum_texts(Placement) {
  return std::to_array<EnumText<Placement>>(
      {{Placement::kAuto, "auto"}, {Placement::kOutput, "output"}, {Placement::kInput, "input"}});
}

// How large dY is, added up while it is written.
class Magnitude : public GradientVisitor {
 public:
  void begin(const at::Tensor& gradient, int64_t blocks) override {
    sums_.assign(static_cast<size_t>(blocks), 0);
    numel_ = gradient.numel();
    type_ = gradient.scalar_type();
    gradient_ = gradient.mutable_data_ptr();
  }

  void visit(int64_t block, int64_t first, int64_t last) override {
    of_two_types(type_, [&]<typename Number>(Number) {
      sums_[static_cast<size_t>(block)] =
          magnitude_simd(static_cast<const Number*>(gradient_) + first, last - first);
    });
  }

  GradientLook look(const at::Tensor& gradient) override {
    mean_ = at::empty({}, at::TensorOptions().dtype(at::kFloat).device(gradient.device()));
    return {.mean = mean_.mutable_data_ptr<float>()};
  }

  // [] float, where the gradient is
  at::Tensor mean() const {
    if (mean_.defined()) return mean_;
    const double sum = std::accumulate(sums_.begin(), sums_.end(), 0.0);
    return at::scalar_tensor(sum / static_cast<double>(std::max<int64_t>(numel_, 1)), at::kFloat);
  }

 protected:
  at::ScalarType type_ = at::kFloat;
  void* gradient_ = nullptr;  // its numbers

 private:
  std::vector<double> sums_;  // by block
  int64_t numel_ = 0;
  at::Tensor mean_;  // on a GPU
};

// And prunes it, by a threshold that is known beforehand.
class MagnitudeAndPruning final : public Magnitude {
 public:
  // `tau` [] float, where the gradient will be.
  MagnitudeAndPruning(at::Tensor tau, const Rng& rng) : tau_(std::move(tau)), rng_(rng) {}

  void begin(const at::Tensor& gradient, int64_t blocks) override {
    Magnitude::begin(gradient, blocks);
    threshold_ = *tau_.const_data_ptr<float>();
  }

  void visit(int64_t block, int64_t first, int64_t last) override {
    Magnitude::visit(block, first, last);
    of_two_types(type_, [&]<typename Number>(Number) {
      auto* const numbers = static_cast<Number*>(gradient_);
      const float tau = threshold_of<Number>(static_cast<float>(Number(threshold_)));
      const StochasticArgs<Number> args{last, numbers, numbers, tau, rng_};
      kept_ += stochastic_simd(args, first, last);
    });
  }

  GradientLook look(const at::Tensor& gradient) override {
    auto look = Magnitude::look(gradient);
    tau_ = tau_.to(gradient.device(), gradient.scalar_type()).to(at::kFloat);
    kept_there_ = at::zeros({}, tau_.options().dtype(at::kLong));
    look.tau = tau_.const_data_ptr<float>();
    look.kept = kept_there_.mutable_data_ptr<int64_t>();
    look.rng = rng_;
    return look;
  }

  // [] int64, where the gradient is
  at::Tensor kept() const {
    return kept_there_.defined() ? kept_there_ : at::scalar_tensor(kept_.load(), at::kLong);
  }

 private:
  at::Tensor tau_;
  float threshold_ = 0;
  const Rng rng_;
  std::atomic<int64_t> kept_ = 0;
  at::Tensor kept_there_;  // on a GPU
};

class StochasticPruning final : public PruningMethod {
 public:
  explicit StochasticPruning(const Params& params)
      : placement_(params.choice<Placement>("placement")),
        by_last_step_(params.text("statistics") == "previous") {
    const double normal =
        std::numbers::sqrt2 *
        at::erfinv(at::scalar_tensor(params.real("p"), at::kDouble)).item<double>();
    const double per_mean = params.text("sigma") == "printed" ? std::sqrt(2 / std::numbers::pi)
                                                              : std::sqrt(std::numbers::pi / 2);
    tau_per_mean_ = normal * per_mean;
  }

  at::Tensor* memory() override { return by_last_step_ ? &last_mean_ : nullptr; }

  Finished finish(const Operands& o, at::Tensor result, const MethodCall& call) override {
    if (o.product != Product::kDataGradient || prunes_output(call)) return {std::move(result), {}};
    const auto tau = threshold(result, call);
    auto pruned = result.use_count() == 1 ? stochastic_pruned_over(std::move(result), tau, call.rng)
                                          : stochastic_pruned(result, tau, call.rng);
    return {std::move(pruned.dy), std::move(pruned.kept)};
  }

 private:
  Plan prune(const Operands& o, const MethodCall& call) override {
    if (!prunes_output(call)) return Dense{};
    if (const auto* seen = dynamic_cast<const MagnitudeAndPruning*>(call.visitor)) {
      remember(seen->mean(), call);
      return PrunedDY{o.dy, seen->kept()};
    }
    const auto tau = threshold(o.dy, call);
    return call.may_overwrite ? stochastic_pruned_over(o.dy, tau, call.rng)
                              : stochastic_pruned(o.dy, tau, call.rng);
  }

  std::unique_ptr<GradientVisitor> pruning_visitor(const MethodCall& call) override {
    if (!prunes_output(call)) return nullptr;
    if (!last_mean_.defined()) return std::make_unique<Magnitude>();
    return std::make_unique<MagnitudeAndPruning>(
        call.scaled(last_mean_ * tau_per_mean_, at::kFloat), call.rng);
  }

  bool prunes_output(const MethodCall& call) const {
    return placement_ == Placement::kOutput ||
           (placement_ == Placement::kAuto && call.norm_follows);
  }

  // Of a gradient whose threshold was not known before it was whole: [] float on its device.
  at::Tensor threshold(const at::Tensor& g, const MethodCall& call) {
    if (g.numel() == 0) return at::zeros({}, g.options().dtype(at::kFloat));
    const auto* seen = dynamic_cast<const Magnitude*>(call.visitor);
    const auto mean = seen != nullptr ? seen->mean() : mean_magnitude(g);
    const auto by = last_mean_.defined() ? call.scaled(last_mean_, at::kFloat) : mean;
    auto tau = by * tau_per_mean_;
    remember(mean, call);
    return tau;
  }

  // For the next step, in the same place. A step that overflows is passed over and leaves no trace.
  void remember(const at::Tensor& mean, const MethodCall& call) {
    if (!by_last_step_) return;
    const auto now = call.unscaled(mean);
    if (last_mean_.defined()) {
      last_mean_.copy_(at::where(now.isfinite(), now, last_mean_));
    } else {
      last_mean_ = now;
    }
  }

  const Placement placement_;
  const bool by_last_step_;
  double tau_per_mean_ = 0;  // tau over the mean magnitude
  at::Tensor last_mean_;     // of the step before, in the units of the loss; [] float
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
         .choices = names_of_enum<Placement>()})
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
