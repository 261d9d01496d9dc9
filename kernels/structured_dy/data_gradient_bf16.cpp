// The data gradient of n of every m neighbouring channels of dY in bfloat16, by pairs of entries
// (kernels/pruned_dy/pair_rows.h). An image is chosen, rescaled and listed while it is in the
// cache; the numbers are those of a dY that was pruned beforehand.
#include <hwy/highway.h>

#include "kernels/structured_dy/structured_dy.h"

#if HWY_ARCH_X86 && HWY_COMPILER_GCC_ACTUAL
#include "kernels/pruned_dy/pair_rows.h"
#include "kernels/select/nm_image.h"

namespace approx {
namespace {

class ChosenImages final : public PairImages {
 public:
  explicit ChosenImages(const Arguments<StructuredDY, BFloat16>& args)
      : dy_(args.dy),
        choice_(args.choice),
        rng_(args.rng),
        plane_(args.problem.ho * args.problem.wo),
        channels_(args.problem.co) {}

  const uint16_t* image(int64_t index, uint16_t* room) const override {
    auto* pruned = reinterpret_cast<BFloat16*>(room);  // whose only member these numbers are
    const int64_t begin = index * this->room();
    const NmArgs<BFloat16> args = {.pixels = plane_,
                                   .channels = channels_,
                                   .n = choice_.n,
                                   .m = choice_.m,
                                   .random = choice_.random,
                                   .rescale_group = choice_.rescaling == Rescaling::kGroup,
                                   .dy = dy_ + begin,
                                   .pruned = pruned,
                                   .rng = rng_};
    if (choice_.rescaling == Rescaling::kPlane) {
      nm_image_simd(args, plane_, 0, /*first_draw=*/begin);
    } else {
      nm_simd(args, 0, this->room(), /*first_draw=*/begin);
    }
    return room;
  }

  int64_t room() const override { return plane_ * channels_; }

 private:
  const BFloat16* dy_;
  NmChoice choice_;
  Rng rng_;
  int64_t plane_, channels_;
};

void chosen_pairs(const Arguments<StructuredDY, BFloat16>& args, const Team& team) {
  pair_data_gradient(args.problem, args.w, ChosenImages(args), args.out, team);
}

// Whole groups, and images whose draws begin with a block of four.
bool chosen_pairs_fit(const Problem& p) {
  return pair_rows_fit(p) && p.group > 0 && p.co % p.group == 0 && p.ho * p.wo * p.co % 4 == 0;
}

// Where the pairs of a dY that is pruned beforehand do: that is written and read again.
bool chosen_pairs_pay(const Problem& p) { return rule_pays(kPairRows, p); }

REGISTER_KERNEL(StructuredDY, "pairs_bf16", chosen_pairs)
    .computes({Product::kDataGradient})
    .on({Hardware::kCpu})
    .where(chosen_pairs_fit)
    .pays(chosen_pairs_pay)
    .rank(0);

}  // namespace
}  // namespace approx
#endif
