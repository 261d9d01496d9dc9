// nm_unbiased: n of every m entries of dY stay, each divided by its chance to stay, so that both
// gradients are unbiased (Chmiel, Hubara, Banner & Soudry 2023, "Minimum Variance Unbiased N:M
// Sparsity for the Neural Gradients").
//
// An entry g stays with the chance p = min(1, c |g|), where c is such that the chances of its group
// add up to n. Among all unbiased choices of n entries these have the least variance, the sum of
// g^2 (1/p - 1). For 1:2 and 2:4 they are the paper's. Every entry that stays with p < 1 has the
// same magnitude afterwards, 1/c.
//
// A group runs along what the product sums over, as a product of n of m needs it:
//   data gradient    m neighbouring output channels of a pixel
//   weight gradient  m neighbouring pixels of a channel, in the order example, row, column
//
// `chances=equal` keeps any n with p = n/m: unbiased, and looks at no magnitude.
//
// Departures. The chances tell how often each entry stays, not which entries stay together. Here
// one draw a group decides, by systematic sampling along the group; the paper has a table of the
// pairs of four. The published code for 2:4 draws two entries one after the other in proportion to
// their magnitudes, whose chances are near the best ones, and adds 1e-7 to every magnitude. The
// paper prunes the weights too, for the other products; here they stay.
#include <array>

#include "core/methods/method.h"
#include "kernels/select/unbiased.h"

namespace approx {

constexpr auto enum_texts(Chances) {
  return std::to_array<EnumText<Chances>>(
      {{Chances::kMagnitude, "magnitude"}, {Chances::kEqual, "equal"}});
}

namespace {

class NmUnbiased final : public Method {
 public:
  explicit NmUnbiased(const Params& params)
      : choice_{.n = params.integer("n"),
                .m = params.integer("m"),
                .axis = GroupAxis::kChannels,
                .chances = params.choice<Chances>("chances")} {}

  Plan plan(const Operands& o, const MethodCall& call) override {
    if (choice_.n == choice_.m) return Dense{};
    auto choice = choice_;
    if (o.product == Product::kWeightGradient) choice.axis = GroupAxis::kPixels;
    auto pruned = unbiased_pruned(o.dy, choice, call.rng);
    pruned.expected_density = static_cast<double>(choice.n) / static_cast<double>(choice.m);
    return pruned;
  }

  bool looks_at_dy_alone() const override { return true; }

 private:
  const UnbiasedChoice choice_;
};

REGISTER_METHOD("nm_unbiased", NmUnbiased)
    .about("n of every m entries of dY stay by chances of least variance, unbiased")
    .from_paper("chmiel2023", "section 4")
    .approximates({Product::kDataGradient, Product::kWeightGradient})
    .controlled_by("nm_unbiased:chances=equal")
    .param({.name = "n",
            .fallback = int64_t{2},
            .help = "entries that stay of each group",
            .min = 1,
            .max = 32,
            .at_most = "m"})
    .param({"m", int64_t{4}, "entries of a group: channels for dX, pixels for dW", 1, 32})
    .param({.name = "chances",
            .fallback = std::string("magnitude"),
            .help = "how likely an entry stays: in proportion to its magnitude, or as any other",
            .choices = names_of_enum<Chances>()});

}  // namespace
}  // namespace approx
