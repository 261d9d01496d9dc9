// msbp: memorized sparse backpropagation (Zhang, Yang, Ren, Sun & Lin 2019; only its abstract and
// result tables were at hand, so this is our reading). What is not sent back is remembered and
// added to the next step's gradient: u = dY + eta * M; the k largest entries of u of each example
// go back, and M becomes the rest. M begins at zero and goes by the position in the batch; a
// smaller batch uses the first of its rows. Both gradients use what goes back; the bias gradient
// the whole dY.
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
  Plan prune(const Operands& o, const MethodCall&) override {
    const int64_t batch = o.dy.size(0);
    const auto k = std::max<int64_t>(
        1, static_cast<int64_t>(std::floor(ratio_ * static_cast<double>(o.dy[0].numel()))));
    const bool grown = memory_.defined() && memory_.size(0) < batch;
    const bool fits = memory_.defined() && memory_.sizes().slice(1) == o.dy.sizes().slice(1);
    if (!fits || memory_.device() != o.dy.device() || memory_.scalar_type() != o.dy.scalar_type()) {
      memory_ = at::zeros_like(o.dy);
    } else if (grown) {
      auto larger = at::zeros_like(o.dy);
      larger.narrow(0, 0, memory_.size(0)).copy_(memory_);
      memory_ = larger;
    }
    auto rest = memory_.narrow(0, 0, batch);
    const auto u = o.dy + rest * eta_;
    auto pruned = largest_of_each_example(u, k);
    rest.copy_(u - pruned.dy);
    return pruned;
  }

  const double ratio_, eta_;
  at::Tensor memory_;  // [N,Co,Ho,Wo]: M
};

REGISTER_METHOD("msbp", Msbp)
    .about("the largest entries of dY and of what was left at earlier steps go back (our reading)")
    .from_paper("zhang2019", "abstract and tables")
    .approximates({Product::kDataGradient, Product::kWeightGradient})
    .keeps_memory()
    .param({"ratio", 0.04, "share of an example's entries that goes back", 0, 1})
    .param({"eta", 0.8, "factor of what is remembered", 0, 1});

}  // namespace
}  // namespace approx
