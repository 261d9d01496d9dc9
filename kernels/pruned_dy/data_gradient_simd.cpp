// The data gradient of a dY that holds many zeros, for every instruction set that Highway knows.
//
//   dX[n, i - padding + r, j - padding + s, :] += dY[n, i, j, co] W[co, r, s, :]
//
// for every entry (n, i, j, co) that is not zero. What is spared is the multiplication, so nothing
// else may cost as much: entries are compacted once, without a branch, into lists by pixel; and the
// sums of the input pixels that an output pixel reaches with one row of the kernel, kTaps of them
// by up to four vectors of input channels, stay in registers while the pixel moves along its row.
// An entry then costs a broadcast and one multiply-add for each vector of weights, which lie in the
// first-level cache: a block of output channels, one kernel row, one block of input channels at a
// time, for all rows of an image (of several, where images are small).
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/pruned_dy/data_gradient_simd.cpp"
#include <hwy/foreach_target.h>
// clang-format off: must follow foreach_target.h
#include <hwy/highway.h>
// clang-format on

#include <hwy/aligned_allocator.h>

#include <algorithm>
#include <vector>

#include "kernels/pruned_dy/pruned_dy.h"

HWY_BEFORE_NAMESPACE();
namespace approx {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using Floats = hn::ScalableTag<float>;
using Ints = hn::ScalableTag<int32_t>;
using Vector = hn::Vec<Floats>;

// The entries of a row of pixels for one block of output channels.
struct EntryRow {
  const float* value;
  const int32_t* weights;  // where the entry's weights begin in the block
  const int32_t* begin;    // of each pixel's entries, and the end of the last
};

// A row of dX, one block of input channels: pixel j at `pixels + j * step`.
struct SumRow {
  float* pixels;
  int64_t step, width;
  bool fresh;  // nothing has been added yet, and what stands there is nothing
};

// Adds what one row of dY gives to one row of dX through one row of the kernel.
template <int kTaps, int kVectors>
HWY_NOINLINE void add_row(const EntryRow& entries, int64_t count, const float* HWY_RESTRICT weights,
                          const SumRow& sums, int64_t padding) {
  const Floats d;
  constexpr auto kLanes = static_cast<int64_t>(hn::MaxLanes(Floats()));
  const auto enter = [&](int64_t j, Vector(&sum)[kVectors]) {
    const bool old = !sums.fresh && j >= 0 && j < sums.width;
    for (int v = 0; v < kVectors; ++v) {
      sum[v] = old ? hn::LoadU(d, sums.pixels + j * sums.step + v * kLanes) : hn::Zero(d);
    }
  };
  const auto leave = [&](int64_t j, const Vector(&sum)[kVectors]) {
    if (j < 0 || j >= sums.width) return;
    for (int v = 0; v < kVectors; ++v) {
      hn::StoreU(sum[v], d, sums.pixels + j * sums.step + v * kLanes);
    }
  };
  Vector sum[kTaps][kVectors];  // of pixels j - padding on
  for (int k = 0; k < kTaps; ++k) enter(k - padding, sum[k]);
  for (int64_t j = 0; j < count; ++j) {
    for (int32_t e = entries.begin[j]; e < entries.begin[j + 1]; ++e) {
      const auto value = hn::Set(d, entries.value[e]);
      const float* own = weights + entries.weights[e];
#pragma GCC unroll 8
      for (int k = 0; k < kTaps; ++k) {
#pragma GCC unroll 4
        for (int v = 0; v < kVectors; ++v) {
          sum[k][v] = hn::MulAdd(value, hn::Load(d, own + (k * kVectors + v) * kLanes), sum[k][v]);
        }
      }
    }
    leave(j - padding, sum[0]);
    for (int k = 0; k + 1 < kTaps; ++k) {
      for (int v = 0; v < kVectors; ++v) sum[k][v] = sum[k + 1][v];
    }
    enter(j - padding + kTaps, sum[kTaps - 1]);
  }
  for (int k = 0; k < kTaps; ++k) leave(count - padding + k, sum[k]);
}

using AddRow = void (*)(const EntryRow&, int64_t, const float*, const SumRow&, int64_t);

// By [taps / 2][log2 of vectors]; five taps of four vectors are more than sixteen registers hold.
constexpr AddRow kAddRow[3][3] = {{add_row<1, 1>, add_row<1, 2>, add_row<1, 4>},
                                  {add_row<3, 1>, add_row<3, 2>, add_row<3, 4>},
                                  {add_row<5, 1>, add_row<5, 2>, add_row<5, 2>}};

// Input channels [first, first + (1 << log_vectors) * lanes).
struct InputBlock {
  int64_t first;
  int log_vectors;
};

class SparseDataGradient {
 public:
  explicit SparseDataGradient(const Arguments<PrunedDY, float>& args)
      : args_(args), p_(args.problem), lanes_(static_cast<int64_t>(hn::Lanes(Floats()))) {
    const int widest = p_.kw == 5 ? 1 : 2;
    for (int64_t first = 0; first < p_.ci;) {
      int log_vectors = widest;
      while (log_vectors > 0 && first + (lanes_ << log_vectors) > p_.ci) --log_vectors;
      inputs_.push_back({first, log_vectors});
      first += lanes_ << log_vectors;
    }
    // Weights of a block: a first-level cache of 48 KiB. Smaller blocks visit each pixel more
    // often, with fewer entries at a time.
    constexpr int64_t kWeightFloats = 12 * 1024;
    const int64_t per_channel = p_.kw * (lanes_ << inputs_.front().log_vectors);
    block_ = std::clamp(kWeightFloats / per_channel / lanes_ * lanes_, lanes_,
                        (p_.co + lanes_ - 1) / lanes_ * lanes_);
    blocks_ = (p_.co + block_ - 1) / block_;
    constexpr int64_t kGroupPixels = 128;  // that share weights while they are in the cache
    images_ = std::clamp<int64_t>(kGroupPixels / std::max<int64_t>(1, p_.ho * p_.wo), 1, p_.n);
  }

  void compute(const Team& team) const {
    auto weights = hwy::AllocateAligned<float>(static_cast<size_t>(p_.co * p_.kh * p_.kw * p_.ci));
    team.share(p_.co, [&](int64_t channel) { pack_weights(channel, weights.get()); });
    team.share((p_.n + images_ - 1) / images_, [&](int64_t group) {
      const int64_t first = group * images_;
      add_images(first, std::min(images_, p_.n - first), weights.get());
    });
  }

 private:
  int64_t width_of(const InputBlock& block) const { return lanes_ << block.log_vectors; }
  int64_t channels_of(int64_t block) const { return std::min(block_, p_.co - block * block_); }

  // Packed weights: [output block][input block][kernel row][output channel][tap][input channel].
  int64_t weights_at(int64_t block, const InputBlock& input, int64_t row) const {
    const int64_t channels = channels_of(block);
    return block * block_ * p_.kh * p_.kw * p_.ci + channels * p_.kh * p_.kw * input.first +
           row * channels * p_.kw * width_of(input);
  }

  void pack_weights(int64_t channel, float* packed) const {
    const int64_t block = channel / block_;
    for (const auto& input : inputs_) {
      const int64_t width = width_of(input);
      for (int64_t r = 0; r < p_.kh; ++r) {
        float* to = packed + weights_at(block, input, r) + channel % block_ * p_.kw * width;
        for (int64_t s = 0; s < p_.kw; ++s) {
          std::copy_n(args_.w + ((channel * p_.kh + r) * p_.kw + s) * p_.ci + input.first, width,
                      to + s * width);
        }
      }
    }
  }

  // dX of images [first, first + count).
  void add_images(int64_t first, int64_t count, const float* weights) const {
    const int64_t pixels = count * p_.ho * p_.wo;
    const int64_t room = pixels * block_ + lanes_;  // for each block; the last store may run over
    auto value = hwy::AllocateAligned<float>(static_cast<size_t>(blocks_ * room));
    auto channel = hwy::AllocateAligned<int32_t>(static_cast<size_t>(blocks_ * room));
    auto offset = hwy::AllocateAligned<int32_t>(static_cast<size_t>(room));
    std::vector<int32_t> begin(static_cast<size_t>(blocks_ * (pixels + 1)));
    compact(args_.dy + first * p_.ho * p_.wo * p_.co, pixels, room, value.get(), channel.get(),
            begin.data());
    const int64_t pad = p_.geometry.padding.h;
    for (int64_t b = 0; b < blocks_; ++b) {
      const int32_t* starts = begin.data() + b * (pixels + 1);
      int32_t per_channel = 0;
      for (const auto& input : inputs_) {
        // Where an entry's weights begin depends on how many vectors the block has: as many as the
        // block before, but at the end.
        const auto own_width = static_cast<int32_t>(p_.kw * width_of(input));
        if (own_width != per_channel) {
          per_channel = own_width;
          for (int32_t e = 0; e < starts[pixels]; ++e) {
            offset[static_cast<size_t>(e)] =
                channel[static_cast<size_t>(b * room + e)] * per_channel;
          }
        }
        const auto add = kAddRow[p_.kw / 2][input.log_vectors];
        for (int64_t r = 0; r < p_.kh; ++r) {
          const float* own = weights + weights_at(b, input, r);
          for (int64_t image = 0; image < count; ++image) {
            float* map = args_.out + (first + image) * p_.h * p_.w * p_.ci + input.first;
            const int64_t top = std::max<int64_t>(0, pad - r);
            const int64_t bottom = std::min(p_.ho, p_.h + pad - r);
            for (int64_t i = top; i < bottom; ++i) {
              const int64_t y = i - pad + r;
              // Rows of the kernel come in order: the first that reaches y finds it fresh.
              const bool fresh = b == 0 && r == std::max<int64_t>(0, y + pad - p_.ho + 1);
              add({value.get() + b * room, offset.get(), starts + (image * p_.ho + i) * p_.wo},
                  p_.wo, own, {map + y * p_.w * p_.ci, p_.ci, p_.w, fresh}, p_.geometry.padding.w);
            }
          }
        }
      }
    }
  }

  // The entries of `pixels` pixels that are not zero: [block][entry] values and channels inside the
  // block, in the order of the pixels.
  void compact(const float* dy, int64_t pixels, int64_t room, float* value, int32_t* channel,
               int32_t* begin) const {
    const Floats d;
    const Ints di;
    std::vector<int32_t> count(static_cast<size_t>(blocks_));
    const auto iota = hn::Iota(di, 0);
    for (int64_t pixel = 0; pixel < pixels; ++pixel, dy += p_.co) {
      for (int64_t b = 0; b < blocks_; ++b) {
        int32_t at = count[static_cast<size_t>(b)];
        begin[b * (pixels + 1) + pixel] = at;
        const int64_t channels = channels_of(b);
        const float* from = dy + b * block_;
        int64_t c = 0;
        for (; c + lanes_ <= channels; c += lanes_) {
          const auto v = hn::LoadU(d, from + c);
          const auto kept = hn::Not(hn::Eq(v, hn::Zero(d)));
          const auto own = hn::Add(iota, hn::Set(di, static_cast<int32_t>(c)));
          // Not CompressStore: to memory the instruction is a slow one on some machines.
          hn::StoreU(hn::Compress(v, kept), d, value + b * room + at);
          hn::StoreU(hn::Compress(own, hn::RebindMask(di, kept)), di, channel + b * room + at);
          at += static_cast<int32_t>(hn::CountTrue(d, kept));
        }
        for (; c < channels; ++c) {
          value[b * room + at] = from[c];
          channel[b * room + at] = static_cast<int32_t>(c);
          at += from[c] != 0;
        }
        count[static_cast<size_t>(b)] = at;
      }
    }
    for (int64_t b = 0; b < blocks_; ++b) {
      begin[b * (pixels + 1) + pixels] = count[static_cast<size_t>(b)];
    }
  }

  const Arguments<PrunedDY, float>& args_;
  const Problem& p_;
  int64_t lanes_;
  std::vector<InputBlock> inputs_;
  int64_t block_ = 0, blocks_ = 0;  // output channels together, and how often
  int64_t images_ = 1;              // together
};

void sparse_data_gradient(const Arguments<PrunedDY, float>& args, const Team& team) {
  SparseDataGradient(args).compute(team);
}

}  // namespace HWY_NAMESPACE
}  // namespace approx
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace approx {

HWY_EXPORT(sparse_data_gradient);

namespace {

void sparse_data_gradient_anywhere(const Arguments<PrunedDY, float>& args, const Team& team) {
  HWY_DYNAMIC_DISPATCH(sparse_data_gradient)(args, team);
}

// Whole vectors of input channels on every instruction set, and no row of dX that no tap reaches.
bool rows_fit(const Problem& p) {
  const Geometry& g = p.geometry;
  return p.one_group() && g.stride == Spatial(1) && g.dilation == Spatial(1) && p.ci % 16 == 0 &&
         (p.kw == 1 || p.kw == 3 || p.kw == 5) && g.padding.w < p.kw && g.padding.h < p.kh &&
         p.n * p.ho * p.wo > 0;
}

// Measured in docs/performance.md.
bool sparse_rows_pay(const Problem& p) {
  return p.density <= 0.45 && p.kh * p.kw >= 9 && p.ci >= 32 && p.co >= 32 && p.ho * p.wo >= 16;
}

REGISTER_KERNEL(PrunedDY, "sparse_rows", sparse_data_gradient_anywhere)
    .computes({Product::kDataGradient})
    .on({Hardware::kCpu})
    .reads({ElementType::kFloat})
    .where(rows_fit)
    .pays(sparse_rows_pay)
    .rank(0);

}  // namespace
}  // namespace approx
#endif
