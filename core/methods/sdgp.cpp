// sdgp: structured data gradient pruning (McDanel, Dinh & Magallanes 2022, mcdanel2022). Of every m
// neighbouring output channels at each pixel of dY, n stay, for the data gradient alone; weight and
// bias gradient use the dense dY, so the error reaches the weights of earlier layers through dX.
//
// `rank=magnitude` keeps the n largest, the lower channel among equals (Algorithm 1); `random` any
// n with equal chances (the published code's shuffle is not uniform), unscaled, so that of n of m a
// share of n / m of the gradient is left; `random_rescaled` the same, rescaled as the largest are:
// what choosing is worth by itself. The paper gives three rescalings of what stays, by
// sum|g| / sum|kept| over
//   group           the group of m (the formula of section III-B)
//   channel         a channel, over examples and pixels (section III-C, caption of Figure 4)
//   sample_channel  a channel of one example, over its pixels (the published code, which made the
//                   reported numbers): the default
//   none            nothing: the paper's "Magnitude"
// The published code adds 1e-4 to the denominator, which plain fp32 gradients of 1e-6 do not
// survive; here a sum of zero is left alone instead.
#include <ATen/ATen.h>

#include <array>

#include "core/methods/pruning.h"
#include "kernels/select/select.h"

namespace approx {
namespace {

enum class Rank { kMagnitude, kRandom, kRandomRescaled };
constexpr auto enum_texts(Rank) {
  return std::to_array<EnumText<Rank>>({{Rank::kMagnitude, "magnitude"},
                                        {Rank::kRandom, "random"},
                                        {Rank::kRandomRescaled, "random_rescaled"}});
}

enum class Rescale { kSampleChannel, kChannel, kGroup, kNone };
constexpr auto enum_texts(Rescale) {
  return std::to_array<EnumText<Rescale>>({{Rescale::kSampleChannel, "sample_channel"},
                                           {Rescale::kChannel, "channel"},
                                           {Rescale::kGroup, "group"},
                                           {Rescale::kNone, "none"}});
}

class Sdgp final : public PruningMethod {
 public:
  explicit Sdgp(const Params& params)
      : choice_{.n = params.integer("n"),
                .m = params.integer("m"),
                .random = params.choice<Rank>("rank") != Rank::kMagnitude,
                .rescaling = Rescaling::kNone},
        rescale_(params.choice<Rank>("rank") == Rank::kRandom ? Rescale::kNone
                                                              : params.choice<Rescale>("rescale")) {
    if (rescale_ == Rescale::kGroup) choice_.rescaling = Rescaling::kGroup;
    if (rescale_ == Rescale::kSampleChannel) choice_.rescaling = Rescaling::kPlane;
  }

 private:
  Plan prune(const Operands& o, const MethodCall& call) override {
    if (choice_.n == choice_.m) return Dense{};
    if (rescale_ != Rescale::kChannel) return StructuredDY{choice_, call.rng};
    // By sums over the whole batch, which whoever chooses image by image does not know.
    auto pruned = nm_pruned(o.dy, choice_, call.rng);
    const auto sum = [](const at::Tensor& dy) {
      return plane_magnitude(dy).sum(0, /*keepdim=*/true);
    };
    rescale(pruned.dy, sum(o.dy), sum(pruned.dy));
    return pruned;
  }

  NmChoice choice_;
  const Rescale rescale_;
};

REGISTER_METHOD("sdgp", Sdgp)
    .about("n of every m neighbouring channels of dY stay, for the data gradient")
    .from_paper("mcdanel2022", "Algorithm 1")
    .in_version(2)
    .rounding_from(1)  // sums are added up otherwise
    .approximates({Product::kDataGradient})
    .in_half_version(3)
    .controlled_by("sdgp:rank=random_rescaled")
    .param({.name = "n",
            .fallback = int64_t{2},
            .help = "channels that stay of each group",
            .min = 1,
            .max = 32,
            .at_most = "m"})
    .param({"m", int64_t{4}, "channels of a group", 1, 32})
    .param({.name = "rank",
            .fallback = std::string("magnitude"),
            .help = "which stay: the largest, any, or any and rescaled",
            .choices = names_of_enum<Rank>()})
    .param({.name = "rescale",
            .fallback = std::string("sample_channel"),
            .help = "over what the sum of magnitudes is kept; none under rank=random",
            .choices = names_of_enum<Rescale>()});

}  // namespace
}  // namespace approx
