// The data gradient of a dY that holds many zeros, for every instruction set that Highway knows:
// its entries are compacted by pixel, without a branch.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/pruned_dy/data_gradient_simd.cpp"
#include <hwy/foreach_target.h>
// clang-format off: must follow foreach_target.h
#include <hwy/highway.h>

#include "kernels/entry_rows-inl.h"
#include "kernels/pruned_dy/entries-inl.h"
// clang-format on

#include "kernels/entry_rows.h"
#include "kernels/pruned_dy/pruned_dy.h"
#include "kernels/simd_variant.h"

HWY_BEFORE_NAMESPACE();
namespace approx {
namespace HWY_NAMESPACE {

// Those that are not zero.
class NonzeroEntries {
 public:
  explicit NonzeroEntries(const Arguments<PrunedDY, float>& args)
      : dy_(args.dy), channels_(args.problem.co) {}

  void list(int64_t first_pixel, PixelEntries& to) const {
    std::vector<int32_t> count(static_cast<size_t>(to.blocks()));
    const float* dy = dy_ + first_pixel * channels_;
    for (int64_t pixel = 0; pixel < to.pixels(); ++pixel, dy += channels_) {
      for (int64_t b = 0; b < to.blocks(); ++b) {
        int32_t& at = count[static_cast<size_t>(b)];
        to.begin(b)[pixel] = at;
        at += compact<false>(dy + to.first_channel(b), to.channels_of(b), to.step(),
                             to.values(b) + at, to.places(b) + at);
      }
    }
    for (int64_t b = 0; b < to.blocks(); ++b) {
      to.begin(b)[to.pixels()] = count[static_cast<size_t>(b)];
    }
  }

 private:
  const float* dy_;
  int64_t channels_;
};

void sparse_data_gradient(const Arguments<PrunedDY, float>& args, const Team& team) {
  const NonzeroEntries entries(args);
  RowsDataGradient(args.problem, args.w, args.out, entries).compute(team);
}

}  // namespace HWY_NAMESPACE
}  // namespace approx
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace approx {
namespace {

REGISTER_SIMD_KERNEL(PrunedDY, "sparse_rows", sparse_data_gradient)
    .computes({Product::kDataGradient})
    .reads({ElementType::kFloat})
    .where(entry_rows_fit)
    .ruled_against("exact")
    .rank(0);

}  // namespace
}  // namespace approx
#endif
