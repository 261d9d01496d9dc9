// channel_drop: the output channels of dY with the largest mean magnitude go back, the channel
// selection of ssProp (Zhong & Huang 2024). Both gradients use the channels that stay.
//
// The mean is over examples and pixels, so the choice is that of meprop:per=batch. ssProp keeps a
// fifth of the channels in every other epoch and all of them in the others: a rule with
// `epochs = "1::2"`. Its code has a factor 1/p commented out, where p is the kept share;
// rescale=true has it.
//
// Departure. ssProp drops the bias gradients of those channels too. Here they are exact, as under
// every method.
#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>

#include "core/methods/pruning.h"
#include "kernels/select/select.h"

namespace approx {
namespace {

class ChannelDrop final : public PruningMethod {
 public:
  explicit ChannelDrop(const Params& params)
      : ratio_(params.real("ratio")), rescale_(params.flag("rescale")) {}

 private:
  Plan prune(const Operands& o, const MethodCall&) override {
    const int64_t channels = o.dy.size(1);
    const auto wanted = static_cast<int64_t>(std::floor(static_cast<double>(channels) * ratio_));
    const int64_t k = std::max<int64_t>(1, wanted);
    if (k >= channels) return Dense{};
    // The largest sums are the largest means.
    const auto sums = plane_magnitude(o.dy).sum({0, 2, 3});
    at::Tensor scale;
    if (rescale_) {
      const double factor = static_cast<double>(channels) / static_cast<double>(k);
      scale = at::full({k}, factor, o.dy.options().dtype(at::kFloat));
    }
    return Sampled{.axis = Axis::kOutputChannels, .index = largest(sums, k), .scale = scale};
  }

  const double ratio_;
  const bool rescale_;
};

REGISTER_METHOD("channel_drop", ChannelDrop)
    .about("the output channels of dY with the largest mean magnitude go back")
    .from_paper("zhong2024", "section 3")
    .approximates({Product::kDataGradient, Product::kWeightGradient})
    .controlled_by("random_entries:per=batch")
    .param({"ratio", 0.2, "share of the channels that stays", 0.001, 1})
    .param({"rescale", false, "kept channels are divided by the share"});

}  // namespace
}  // namespace approx
