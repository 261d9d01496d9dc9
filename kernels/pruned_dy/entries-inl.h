// Finds the nonzero entries of a dY with vectors. Included once for each instruction set that
// Highway compiles for.
#if defined(APPROX_KERNELS_PRUNED_DY_ENTRIES_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef APPROX_KERNELS_PRUNED_DY_ENTRIES_INL_H_
#undef APPROX_KERNELS_PRUNED_DY_ENTRIES_INL_H_
#else
#define APPROX_KERNELS_PRUNED_DY_ENTRIES_INL_H_
#endif

#include <hwy/highway.h>

#include <cstdint>

HWY_BEFORE_NAMESPACE();
namespace approx {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// The positions of the true lanes, in order, for each mask of eight lanes (or four).
struct TrueLanes {
  uint8_t at[256][8] = {};
  constexpr TrueLanes() {
    for (int mask = 0; mask < 256; ++mask) {
      for (int lane = 0, found = 0; lane < 8; ++lane) {
        if ((mask >> lane & 1) != 0) at[mask][found++] = static_cast<uint8_t>(lane);
      }
    }
  }
};
constexpr TrueLanes kTrueLanes;

// Stores side by side the lanes of v that a mask keeps, and their `places`. Writes a whole vector
// to each array.
template <typename D, typename Places>
HWY_INLINE void store_kept(D d, hn::Vec<D> v, Places places, hn::Mask<D> kept,
                           float* HWY_RESTRICT value, int32_t* HWY_RESTRICT place) {
  const hn::RebindToSigned<D> di;
  if constexpr (hn::MaxLanes(D()) > 8) {
    // Not CompressStore: its instruction is slow on some machines when it writes to memory.
    hn::StoreU(hn::Compress(v, kept), d, value);
    hn::StoreU(hn::Compress(places, hn::RebindMask(di, kept)), di, place);
  } else {
    // Not Compress: without an instruction for it, Highway copies its table at each call.
    uint8_t bits[8];
    hn::StoreMaskBits(d, kept, bits);
    const hn::Rebind<uint8_t, decltype(di)> bytes;
    const auto lanes = hn::PromoteTo(di, hn::LoadU(bytes, kTrueLanes.at[bits[0]]));
    hn::StoreU(hn::TableLookupLanes(v, hn::IndicesFromVec(d, lanes)), d, value);
    hn::StoreU(hn::TableLookupLanes(places, hn::IndicesFromVec(di, lanes)), di, place);
  }
}

// Copies the nonzero numbers of a pixel's `channels` numbers to `value`, in order and without a
// branch. Writes their positions, multiplied by `step`, to `place`. Returns how many. A NaN counts
// as nonzero. Up to a vector past the end is overwritten. If kPixels, `at` is set to `pixel` for
// each of them.
template <bool kPixels>
HWY_INLINE int32_t compact(const float* HWY_RESTRICT from, int64_t channels, int32_t step,
                           float* HWY_RESTRICT value, int32_t* HWY_RESTRICT place,
                           int32_t* HWY_RESTRICT at = nullptr, int32_t pixel = 0) {
  const hn::ScalableTag<float> d;
  const hn::RebindToSigned<decltype(d)> di;
  constexpr auto kLanes = static_cast<int64_t>(hn::MaxLanes(hn::ScalableTag<float>()));
  const auto next = hn::Set(di, step * static_cast<int32_t>(kLanes));
  auto places = hn::Mul(hn::Iota(di, 0), hn::Set(di, step));
  int32_t found = 0;
  int64_t c = 0;
  for (; c + kLanes <= channels; c += kLanes) {
    const auto v = hn::LoadU(d, from + c);
    const auto kept = hn::Not(hn::Eq(v, hn::Zero(d)));
    store_kept(d, v, places, kept, value + found, place + found);
    if constexpr (kPixels) hn::StoreU(hn::Set(di, pixel), di, at + found);
    found += static_cast<int32_t>(hn::CountTrue(d, kept));
    places = hn::Add(places, next);
  }
  for (; c < channels; ++c) {
    value[found] = from[c];
    place[found] = step * static_cast<int32_t>(c);
    if constexpr (kPixels) at[found] = pixel;
    found += from[c] != 0;
  }
  return found;
}

}  // namespace HWY_NAMESPACE
}  // namespace approx
HWY_AFTER_NAMESPACE();

#endif
