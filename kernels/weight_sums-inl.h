// The sums of a weight gradient while pixels stream past. Included once for each instruction set
// that Highway compiles for.
#if defined(APPROX_KERNELS_WEIGHT_SUMS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef APPROX_KERNELS_WEIGHT_SUMS_INL_H_
#undef APPROX_KERNELS_WEIGHT_SUMS_INL_H_
#else
#define APPROX_KERNELS_WEIGHT_SUMS_INL_H_
#endif

#include <hwy/aligned_allocator.h>
#include <hwy/highway.h>

#include <algorithm>
#include <cstdint>
#include <vector>

#include "kernels/team.h"
#include "products/problem.h"

HWY_BEFORE_NAMESPACE();
namespace approx {
namespace HWY_NAMESPACE {

// Input channels [first, first + count) in `vectors` vectors, the last of them padded.
struct InputChannels {
  int64_t first, count, vectors;

  int64_t width() const {
    return vectors * static_cast<int64_t>(
                         hwy::HWY_NAMESPACE::Lanes(hwy::HWY_NAMESPACE::ScalableTag<float>()));
  }
};

// Copies the channels of a block of one pixel, padded with zeros.
HWY_INLINE void copy_block(const float* HWY_RESTRICT pixel, const InputChannels& block,
                           float* HWY_RESTRICT to) {
  namespace hn = hwy::HWY_NAMESPACE;
  const hn::ScalableTag<float> d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  const int64_t width = block.width();
  if (block.count == width) {
    for (int64_t l = 0; l < width; l += lanes) hn::Store(hn::LoadU(d, pixel + l), d, to + l);
  } else {
    std::copy_n(pixel, block.count, to);
    std::fill(to + block.count, to + width, 0.0f);
  }
}

// Splits pixels into parts with sums of their own, and input channels into blocks. The number of
// parts depends only on the problem, and they are added in order. So the result is the same on any
// number of threads.
class WeightSums {
 public:
  // For pixels in `tiles` tiles. Blocks have `vectors` vectors; the last has as few as it needs.
  WeightSums(const Problem& p, int64_t vectors, int64_t tiles)
      : channels_(p.co), inputs_(p.ci), taps_(p.kh * p.kw), tiles_(tiles) {
    const int64_t lanes = InputChannels{0, 0, 1}.width();
    for (int64_t first = 0; first < inputs_; first += vectors * lanes) {
      const int64_t count = std::min(vectors * lanes, inputs_ - first);
      blocks_.push_back({first, count, (count + lanes - 1) / lanes});
      begins_.push_back(size_);
      size_ += channels_ * taps_ * blocks_.back().width();
    }
    begins_.push_back(size_);
    // Enough items for many threads, but sums that still fit well into caches.
    constexpr int64_t kItems = 32, kMostSums = 2 << 20;
    parts_ = std::clamp<int64_t>(kMostSums / size_, 1, std::min(kItems, tiles));
    groups_ = std::clamp<int64_t>(kItems / parts_, 1, static_cast<int64_t>(blocks_.size()));
    sums_ = hwy::AllocateAligned<float>(static_cast<size_t>(parts_ * size_));
  }

  // The tiles of one part and the blocks of one group, whose sums begin as zeros. Indices go from
  // `first` to before `last`.
  struct Item {
    int64_t first_tile, last_tile;
    size_t first_block, last_block;
    float* sums;  // the sums of the part
  };

  // Calls `add` with every item. It must add the contributions of the item's tiles to sums(item,
  // block). Then writes the weight gradient, [Co,Kh,Kw,Ci], to `out`.
  template <typename Add>
  void compute(const Team& team, const Add& add, float* out) const {
    team.share(parts_ * groups_, [&](int64_t index) {
      const int64_t part = index / groups_, group = index % groups_;
      const auto blocks = static_cast<int64_t>(blocks_.size());
      const Item item = {tiles_ * part / parts_, tiles_ * (part + 1) / parts_,
                         static_cast<size_t>(blocks * group / groups_),
                         static_cast<size_t>(blocks * (group + 1) / groups_),
                         sums_.get() + part * size_};
      std::fill(item.sums + begins_[item.first_block], item.sums + begins_[item.last_block], 0.0f);
      add(item);
      if (parts_ > 1) return;
      for (int64_t channel = 0; channel < channels_; ++channel) {  // while they are in the cache
        add_parts(channel, item.first_block, item.last_block, out);
      }
    });
    if (parts_ == 1) return;
    team.share(channels_, [&](int64_t channel) { add_parts(channel, 0, blocks_.size(), out); });
  }

  // The number of items that add the same tile, each to other blocks.
  int64_t items_of_tile() const { return groups_; }

  const InputChannels& block(size_t index) const { return blocks_[index]; }

  // The sums of a block: [output channel][tap][input channel of the block].
  float* sums(const Item& item, size_t block) const { return item.sums + begins_[block]; }
  // Numbers from the sums of one output channel to those of the next.
  int64_t step(size_t block) const { return taps_ * blocks_[block].width(); }

 private:
  // Adds the parts of one output channel for some blocks.
  void add_parts(int64_t channel, size_t first_block, size_t last_block, float* out) const {
    for (size_t b = first_block; b < last_block; ++b) {
      const auto& block = blocks_[b];
      const float* from = sums_.get() + begins_[b] + channel * step(b);
      for (int64_t tap = 0; tap < taps_; ++tap, from += block.width()) {
        float* to = out + (channel * taps_ + tap) * inputs_ + block.first;
        std::copy_n(from, block.count, to);
        for (int64_t part = 1; part < parts_; ++part) {
          const float* more = from + part * size_;
          for (int64_t i = 0; i < block.count; ++i) to[i] += more[i];
        }
      }
    }
  }

  int64_t channels_, inputs_, taps_, tiles_;
  std::vector<InputChannels> blocks_;
  std::vector<int64_t> begins_;  // begin of each block's sums in a part, and end of the last
  int64_t size_ = 0, parts_ = 1, groups_ = 1;
  hwy::AlignedFreeUniquePtr<float[]> sums_;
};

}  // namespace HWY_NAMESPACE
}  // namespace approx
HWY_AFTER_NAMESPACE();

#endif
