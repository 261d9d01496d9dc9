// The weight gradient of compressed rows by lists, for every instruction set that Highway knows: a
// list is what the rows of one output channel have in a tile of pixels. Packing X costs one read of
// it, which few entries do not pay for.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/sparse_dy/listed_simd.cpp"
#include <hwy/foreach_target.h>
// clang-format off: must follow foreach_target.h
#include <hwy/highway.h>

#include "kernels/listed_gradient-inl.h"
// clang-format on

#include "kernels/simd_variant.h"
#include "kernels/sparse_dy/sparse_dy.h"

HWY_BEFORE_NAMESPACE();
namespace approx {
namespace HWY_NAMESPACE {

class RowEntries {
 public:
  explicit RowEntries(const Arguments<SparseDY, float>& args) : args_(args), p_(args.problem) {}

  struct Scratch {
    Scratch(const RowEntries& /*source*/, int64_t /*pixels*/) {}
  };

  void list(const PixelTile& tile, const PackedPixels& packed, Scratch& /*scratch*/,
            Lists& lists) const {
    const auto* start = args_.row_start + tile.image * p_.co;
    lists.reserve(start[tile.images * p_.co] - start[0]);
    lists.begin.resize(static_cast<size_t>(p_.co));
    lists.end.resize(static_cast<size_t>(p_.co));
    const auto first = static_cast<int32_t>(tile.top * p_.wo);
    const auto last = static_cast<int32_t>((tile.top + tile.rows) * p_.wo);
    const auto columns = static_cast<int32_t>(p_.wo);
    int32_t count = 0;
    for (int64_t c = 0; c < p_.co; ++c) {
      lists.begin[static_cast<size_t>(c)] = count;
      for (int64_t image = 0; image < tile.images; ++image) {
        const auto* row = start + image * p_.co + c;
        for (int64_t e = row[0]; e < row[1]; ++e) {
          const int32_t position = args_.position[e];
          if (position < first || position >= last) continue;
          const int32_t pixel = position - first;
          lists.value[static_cast<size_t>(count)] = args_.value[e];
          lists.at[static_cast<size_t>(count)] =
              static_cast<int32_t>(packed.at(image, pixel / columns, pixel % columns));
          ++count;
        }
      }
      lists.end[static_cast<size_t>(c)] = count;
    }
  }

 private:
  const Arguments<SparseDY, float>& args_;
  const Problem& p_;
};

void listed_rows(const Arguments<SparseDY, float>& args, const Team& team) {
  const RowEntries entries(args);
  ListedWeightGradient(args.problem, args.x, args.out, entries).compute(team);
}

}  // namespace HWY_NAMESPACE
}  // namespace approx
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace approx {
namespace {

REGISTER_SIMD_KERNEL(SparseDY, "lists", listed_rows)
    .computes({Product::kWeightGradient})
    .where([](const Problem& p) { return p.one_group() && p.n * p.ho * p.wo * p.ci * p.co > 0; })
    .ruled_against("simd", Pays::kAbove)
    .rank(0);

}  // namespace
}  // namespace approx
#endif
