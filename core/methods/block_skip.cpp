// block_skip: residual branches without a backward pass, the block skip of DropBP (Woo et al. 2024)
// and the backward half of stochastic depth (Huang et al. 2016).
//
// At the steps that a schedule draws for a block, the output of its residual branch is detached.
// The forward pass is exact. The gradient takes the shortcut alone: the branch's products, norms
// and ReLUs have no backward pass, and its activations are not kept. Parameters of the branch have
// no gradient, as under zero:freeze=true: the optimizer leaves them, their momentum and their decay
// alone in this step.
//
// Left as it is, the gradient is biased: a branch counts with the share 1 - p of the steps. DropBP
// leaves it so. With rescale=true the gradient that enters a kept branch is multiplied by 1/(1 -
// p), where p is the `chance` of the rule. Every path through branches then has a factor of mean 1
// over seeds, as blocks are drawn independently and slopes are those of the exact forward pass.
// Within one training the 64 patterns come again and again. Each block is kept in its share of
// them, so paths through one branch have a factor of mean 1 over the steps. Paths through several
// do not: through two at p = 0.5 the factor is 1 give or take 0.13, and through all of eight
// branches most trainings have none at all.
//
// The rates are what the rules say, equal unless there are several. A rule with
// `rates = "sensitivity"` sets them as DropBP does: the sensitivity of each block is measured at a
// tenth of the training (core/train/block_sensitivity.h), and its rate follows from that
// (core/config/block_rates.h).
//
// Departures. DropBP draws each step by itself, and stops more blocks where a draw has fewer than
// the mean. Here 64 patterns are drawn once (core/config/step_draws.h). Its rates are tenths, here
// they are 64ths.
//
// A layer by itself, as studies have it, gets gradients of zero.
#include "core/methods/method.h"

namespace approx {
namespace {

class BlockSkip final : public Method {
 public:
  explicit BlockSkip(const Params& params) : rescale_(params.flag("rescale")) {}

  Plan plan(const Operands&, const MethodCall&) override { return Skip{}; }
  Keep keep() const override { return Keep::kNothing; }
  bool abstains() const override { return true; }
  double kept_scale(double chance) const override {
    return rescale_ && chance < 1 ? 1 / (1 - chance) : 1;
  }

 private:
  const bool rescale_;
};

REGISTER_METHOD("block_skip", BlockSkip)
    .about("residual branches without a backward pass")
    .from_paper("woo2024", "section 3")
    .approximates({Product::kDataGradient, Product::kWeightGradient})
    .of_blocks()
    .param({"rescale", false, "kept branches have 1/(1 - chance) times their gradient"});

}  // namespace
}  // namespace approx
