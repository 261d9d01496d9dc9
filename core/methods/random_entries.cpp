// random_entries: every entry of dY goes back or not by a draw of its own, with equal chances, and
// what goes back is divided by them. Unbiased, and looks at no magnitude: what a method that keeps
// the largest must beat at the same density (sweep --controls random). `per=batch` keeps k of the
// output channels for the whole batch instead, any of them.
#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>

#include "core/methods/pruning.h"
#include "kernels/draws.h"
#include "kernels/select/select.h"

namespace approx {
namespace {

class RandomEntries final : public PruningMethod {
 public:
  explicit RandomEntries(const Params& params)
      : k_(params.integer("k")),
        ratio_(params.real("ratio")),
        per_batch_(params.text("per") == "batch") {}

 private:
  Plan prune(const Operands& o, const MethodCall& call) override {
    const int64_t length = per_batch_ ? o.dy.size(1) : o.dy[0].numel();
    const auto n = static_cast<double>(length);
    const double kept = ratio_ > 0 ? ratio_ * n : static_cast<double>(k_);
    if (kept >= n) return Dense{};
    if (per_batch_) return channels(o, std::max<int64_t>(1, static_cast<int64_t>(kept)), call.rng);
    // One entry stays of so many.
    const auto candidates = static_cast<int64_t>(n / kept);
    const auto u = draws_among(call.rng, candidates, o.dy.sizes(), o.dy.device());
    return counted(at::where(u < kept / n, o.dy * (n / kept), 0).to(o.dy.scalar_type()));
  }

  // Any k output channels, scaled by how many there are of each.
  static Plan channels(const Operands& o, int64_t k, const Rng& rng) {
    const int64_t n = o.dy.size(1);
    const double scale = static_cast<double>(n) / static_cast<double>(k);
    return Sampled{.axis = Axis::kOutputChannels,
                   .index = subset_draws(rng, n, k, o.dy.device()),
                   .scale = at::full({k}, scale, o.dy.options().dtype(at::kFloat))};
  }

  const int64_t k_;
  const double ratio_;
  const bool per_batch_;
};

REGISTER_METHOD("random_entries", RandomEntries)
    .about("entries of dY go back with equal chances, unbiased: the control of pruning methods")
    .approximates({Product::kDataGradient, Product::kWeightGradient})
    .param({"k", int64_t{30}, "entries that stay of an example on average, or channels", 1})
    .param({"ratio", 0.0, "share that stays, in place of k; 0: go by k", 0, 1})
    .param({.name = "per",
            .fallback = std::string("example"),
            .help = "each entry its own draw, or one choice of channels for the batch",
            .choices = {"example", "batch"}});

}  // namespace
}  // namespace approx
