// msbp: memorized sparse backpropagation (Zhang, Yang, Ren & Sun 2019; only its abstract and
// result tables were at hand, so this is our reading). What is not sent back is remembered and
// added to the next step's gradient: u = dY + eta * M; the k largest entries of u of each example
// go back, and M becomes the rest. M begins at zero and goes by the position in the batch; a
// smaller batch uses the first of its rows. Both gradients use what goes back; the bias gradient
// the whole dY.
// M is kept in float and in the units of the loss, since a loss scale changes from step to step.
// Where what goes back is no number in the precision of dY, the optimizer passes the step over and
// M stays as it was. (Of layers that are finite in such a step, what they sent is lost with it.)
#include <ATen/ATen.h>

#include <cmath>

#include "core/methods/pruning.h"
#include "kernels/select/select.h"

namespace approx {
namespace {

class Msbp final : public PruningMethod {
 public:
  explicit Msbp(const Params& params) : ratio_(params.real("ratio")), eta_(params.real("eta")) {}

  at::Tensor* memory() override { return &memory_; }

 private:
  Plan prune(const Operands& o, const MethodCall& call) override {
    const auto dy = call.unscaled(o.dy);
    const auto k = std::max<int64_t>(
        1, static_cast<int64_t>(std::floor(ratio_ * static_cast<double>(dy[0].numel()))));
    auto rest = remembered(dy);
    const auto u = dy + rest * eta_;
    auto pruned = largest_of_each_example(u, k);
    const auto left = u - pruned.dy;
    pruned.dy = call.scaled(pruned.dy, o.dy.scalar_type());
    rest.copy_(at::where(pruned.dy.isfinite().all(), left, rest));
    return pruned;
  }

  // The rows of M that belong to dy, a view of it: zeros where there are none yet.
  at::Tensor remembered(const at::Tensor& dy) {
    const int64_t batch = dy.size(0);
    const bool fits = memory_.defined() && memory_.sizes().slice(1) == dy.sizes().slice(1) &&
                      memory_.device() == dy.device() && memory_.scalar_type() == dy.scalar_type();
    if (!fits) {
      memory_ = at::zeros_like(dy);
    } else if (memory_.size(0) < batch) {
      auto larger = at::zeros_like(dy);
      larger.narrow(0, 0, memory_.size(0)).copy_(memory_);
      memory_ = larger;
    }
    return memory_.narrow(0, 0, batch);
  }

  const double ratio_, eta_;
  at::Tensor memory_;  // [N,Co,Ho,Wo] float: M
};

REGISTER_METHOD("msbp", Msbp)
    .about("the largest entries of dY and of what was left at earlier steps go back (our reading)")
    .from_paper("zhang2019", "abstract and tables")
    .approximates({Product::kDataGradient, Product::kWeightGradient})
    .controlled_by("random_entries")
    .in_half_version(2)
    .param({"ratio", 0.04, "share of an example's entries that goes back", 0, 1})
    .param({"eta", 0.8, "factor of what is remembered", 0, 1});

}  // namespace
}  // namespace approx
