// The weight gradient of a dY that holds many zeros, for every instruction set that Highway knows:
// its entries are compacted by pixel, without a branch, and then dealt out to the output channels.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/pruned_dy/weight_gradient_simd.cpp"
#include <hwy/foreach_target.h>
// clang-format off: must follow foreach_target.h
#include <hwy/highway.h>

#include "kernels/listed_gradient-inl.h"
#include "kernels/pruned_dy/entries-inl.h"
// clang-format on

#include <hwy/aligned_allocator.h>

#include "kernels/pruned_dy/pruned_dy.h"
#include "kernels/rules.h"

HWY_BEFORE_NAMESPACE();
namespace approx {
namespace HWY_NAMESPACE {

class PrunedEntries {
 public:
  explicit PrunedEntries(const Arguments<PrunedDY, float>& args) : p_(args.problem), dy_(args.dy) {}

  // Room for the entries of a tile, pixel after pixel.
  struct Scratch {
    Scratch(const PrunedEntries& source, int64_t pixels)
        : most(pixels * source.p_.co),
          // The last store may run over.
          value(hwy::AllocateAligned<float>(room())),
          channel(hwy::AllocateAligned<int32_t>(room())),
          at(hwy::AllocateAligned<int32_t>(room())) {}

    size_t room() const { return static_cast<size_t>(most) + hn::Lanes(hn::ScalableTag<float>()); }

    int64_t most;
    hwy::AlignedFreeUniquePtr<float[]> value;
    hwy::AlignedFreeUniquePtr<int32_t[]> channel, at;
    int32_t count = 0;
  };

  void list(const PixelTile& tile, const PackedPixels& packed, Scratch& entries,
            Lists& lists) const {
    compact_tile(tile, packed, entries);
    lists.reserve(entries.count);
    deal_out(entries, lists);
  }

 private:
  void compact_tile(const PixelTile& tile, const PackedPixels& packed, Scratch& entries) const {
    entries.count = 0;
    for (int64_t image = 0; image < tile.images; ++image) {
      const float* pixel = dy_ + ((tile.image + image) * p_.ho + tile.top) * p_.wo * p_.co;
      for (int64_t i = 0; i < tile.rows; ++i) {
        for (int64_t j = 0; j < p_.wo; ++j, pixel += p_.co) {
          const int32_t first = entries.count;
          entries.count += compact<true>(pixel, p_.co, /*step=*/1, entries.value.get() + first,
                                         entries.channel.get() + first, entries.at.get() + first,
                                         static_cast<int32_t>(packed.at(image, i, j)));
        }
      }
    }
  }

  // By output channel: counted, then dealt out.
  void deal_out(const Scratch& entries, Lists& lists) const {
    // While entries are dealt out, begin[c + 1] is where the next one of channel c goes.
    lists.begin.assign(static_cast<size_t>(p_.co) + 2, 0);
    int32_t* next = lists.begin.data() + 1;
    for (int32_t e = 0; e < entries.count; ++e) ++next[entries.channel[static_cast<size_t>(e)] + 1];
    for (int64_t c = 0; c < p_.co; ++c) next[c + 1] += next[c];
    float* value = lists.value.get();
    int32_t* at = lists.at.get();
    for (int32_t e = 0; e < entries.count; ++e) {
      const auto entry = static_cast<size_t>(e);
      const int32_t to = next[entries.channel[entry]]++;
      value[to] = entries.value[entry];
      at[to] = entries.at[entry];
    }
  }

  const Problem& p_;
  const float* dy_;
};

void sparse_weight_gradient(const Arguments<PrunedDY, float>& args, const Team& team) {
  const PrunedEntries entries(args);
  ListedWeightGradient(args.problem, args.x, args.out, entries).compute(team);
}

}  // namespace HWY_NAMESPACE
}  // namespace approx
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace approx {

HWY_EXPORT(sparse_weight_gradient);

namespace {

void sparse_weight_gradient_anywhere(const Arguments<PrunedDY, float>& args, const Team& team) {
  HWY_DYNAMIC_DISPATCH(sparse_weight_gradient)(args, team);
}

REGISTER_KERNEL(PrunedDY, "sparse_lists", sparse_weight_gradient_anywhere)
    .computes({Product::kWeightGradient})
    .on({Hardware::kCpu})
    .reads({ElementType::kFloat})
    .where([](const Problem& p) { return p.one_group() && p.n * p.ho * p.wo * p.ci * p.co > 0; })
    .pays([](const Problem& p) { return rule_pays("sparse_lists", p); })
    .rank(0);

}  // namespace
}  // namespace approx
#endif
