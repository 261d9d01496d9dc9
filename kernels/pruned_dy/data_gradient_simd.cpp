// The data gradient of a dY that holds many zeros, for every instruction set that Highway knows.
//
//   dX[n, i - padding + r, j - padding + s, :] += dY[n, i, j, co] W[co, r, s, :]
//
// for every entry (n, i, j, co) that is not zero. What is spared is the multiplication, so nothing
// else may cost as much: entries are compacted once, without a branch, into lists by pixel; and the
// sums of the input pixels that an output pixel reaches with one row of the kernel, kTaps of them
// by up to four vectors of input channels, stay in registers while the pixel moves along its row.
// An entry then costs a broadcast and one multiply-add for each vector of weights, which lie in the
// first-level cache: a block of output channels, one kernel row (or three), one block of input
// channels at a time, for all rows of an image (of several, where images are small).
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/pruned_dy/data_gradient_simd.cpp"
#include <hwy/foreach_target.h>
// clang-format off: must follow foreach_target.h
#include <hwy/highway.h>

#include "kernels/pruned_dy/entries-inl.h"
// clang-format on

#include <hwy/aligned_allocator.h>

#include <algorithm>
#include <vector>

#include "kernels/pruned_dy/pruned_dy.h"
#include "kernels/rules.h"

HWY_BEFORE_NAMESPACE();
namespace approx {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using Floats = hn::ScalableTag<float>;
using Vector = hn::Vec<Floats>;

// The entries of a row of pixels for one block of output channels.
struct EntryRow {
  const float* value;
  const int32_t* weights;  // where the entry's weights begin in the block
  const int32_t* begin;    // of each pixel's entries, and the end of the last
};

// Neighbouring rows of dX, one block of input channels: pixel j of row r at
// `pixels + r * row_step + j * step`.
struct SumRows {
  float* pixels;
  int64_t row_step, step, width;
  bool on_map[3];  // of each row; the others are nowhere
  bool fresh[3];   // nothing has been added yet, and what stands there is nothing
};

// Adds what one row of dY gives to kRows rows of dX through as many rows of the kernel.
template <int kRows, int kTaps, int kStride, int kVectors>
HWY_NOINLINE void add_row(const EntryRow& entries, int64_t count, const float* HWY_RESTRICT weights,
                          const SumRows& sums, int64_t padding) {
  const Floats d;
  constexpr auto kLanes = static_cast<int64_t>(hn::MaxLanes(Floats()));
  constexpr int kLeaving = std::min(kTaps, kStride);  // when the window moves on
  Vector sum[kRows][kTaps][kVectors];                 // of pixels `left` on
  const auto place = [&](int r, int64_t j) {
    return sums.pixels + r * sums.row_step + j * sums.step;
  };
  const auto enter = [&](int64_t j, int k) {
    const bool inside = j >= 0 && j < sums.width;
    for (int r = 0; r < kRows; ++r) {
      const bool old = inside && sums.on_map[r] && !sums.fresh[r];
      for (int v = 0; v < kVectors; ++v) {
        sum[r][k][v] = old ? hn::LoadU(d, place(r, j) + v * kLanes) : hn::Zero(d);
      }
    }
  };
  const auto leave = [&](int64_t j, int k) {
    if (j < 0 || j >= sums.width) return;
    for (int r = 0; r < kRows; ++r) {
      if (!sums.on_map[r]) continue;
      for (int v = 0; v < kVectors; ++v) hn::StoreU(sum[r][k][v], d, place(r, j) + v * kLanes);
    }
  };
  int64_t left = -padding;
  for (int k = 0; k < kTaps; ++k) enter(left + k, k);
  for (int64_t j = 0; j < count; ++j) {
    for (int32_t e = entries.begin[j]; e < entries.begin[j + 1]; ++e) {
      const auto value = hn::Set(d, entries.value[e]);
      const float* own = weights + entries.weights[e];
#pragma GCC unroll 4
      for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 8
        for (int k = 0; k < kTaps; ++k) {
#pragma GCC unroll 4
          for (int v = 0; v < kVectors; ++v, own += kLanes) {
            sum[r][k][v] = hn::MulAdd(value, hn::Load(d, own), sum[r][k][v]);
          }
        }
      }
    }
    for (int k = 0; k < kLeaving; ++k) leave(left + k, k);
    for (int r = 0; r < kRows; ++r) {
      for (int k = 0; k + kStride < kTaps; ++k) {
        for (int v = 0; v < kVectors; ++v) sum[r][k][v] = sum[r][k + kStride][v];
      }
    }
    left += kStride;
    for (int k = kTaps - kLeaving; k < kTaps; ++k) enter(left + k, k);
  }
  for (int k = 0; k < kTaps; ++k) leave(left + k, k);
}

using AddRow = void (*)(const EntryRow&, int64_t, const float*, const SumRows&, int64_t);

// By [log2 of vectors]; five taps of four vectors are more than sixteen registers hold.
template <int kTaps, int kStride>
constexpr AddRow kAddRow[3] = {add_row<1, kTaps, kStride, 1>, add_row<1, kTaps, kStride, 2>,
                               add_row<1, kTaps, kStride, kTaps == 5 ? 2 : 4>};

AddRow add_row_of(const Problem& p, int64_t rows, int log_vectors) {
  if (rows == 3) return add_row<3, 3, 1, 1>;
  const bool moves_by_one = p.geometry.stride.w == 1;
  switch (p.kw) {
    case 1:
      return (moves_by_one ? kAddRow<1, 1> : kAddRow<1, 2>)[log_vectors];
    case 3:
      return (moves_by_one ? kAddRow<3, 1> : kAddRow<3, 2>)[log_vectors];
    default:
      return (moves_by_one ? kAddRow<5, 1> : kAddRow<5, 2>)[log_vectors];
  }
}

// Input channels [first, first + (1 << log_vectors) * lanes).
struct InputBlock {
  int64_t first;
  int log_vectors;
};

class SparseDataGradient {
 public:
  explicit SparseDataGradient(const Arguments<PrunedDY, float>& args)
      : args_(args),
        p_(args.problem),
        lanes_(static_cast<int64_t>(hn::Lanes(Floats()))),
        every_pixel_(p_.geometry.stride == Spatial(1)) {
    // Few channels: three rows of the kernel together, for fewer sums than eight leave
    // multiply-adds waiting for each other.
    if (p_.ci == 16 && p_.kh == 3 && p_.kw == 3 && every_pixel_) rows_ = 3;
    const int widest = rows_ == 3 ? 0 : p_.kw == 5 ? 1 : 2;
    for (int64_t first = 0; first < p_.ci;) {
      int log_vectors = widest;
      while (log_vectors > 0 && first + (lanes_ << log_vectors) > p_.ci) --log_vectors;
      inputs_.push_back({first, log_vectors});
      first += lanes_ << log_vectors;
    }
    // Weights of a block: a first-level cache of 48 KiB. Smaller blocks visit each pixel more
    // often, with fewer entries at a time.
    constexpr int64_t kWeightFloats = 12 << 10;
    const int64_t per_channel = rows_ * p_.kw * width_of(inputs_.front());
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

  // Packed weights: [output block][input block][kernel rows][output channel][row][tap][input
  // channel].
  int64_t weights_at(int64_t block, const InputBlock& input, int64_t row) const {
    const int64_t channels = channels_of(block);
    return block * block_ * p_.kh * p_.kw * p_.ci + channels * p_.kh * p_.kw * input.first +
           row / rows_ * rows_ * channels * p_.kw * width_of(input);
  }

  void pack_weights(int64_t channel, float* packed) const {
    const int64_t block = channel / block_;
    for (const auto& input : inputs_) {
      const int64_t width = width_of(input);
      for (int64_t r = 0; r < p_.kh; ++r) {
        float* to = packed + weights_at(block, input, r) +
                    (channel % block_ * rows_ + r % rows_) * p_.kw * width;
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
    const int64_t pad = p_.geometry.padding.h, stride = p_.geometry.stride.h;
    float* maps = args_.out + first * p_.h * p_.w * p_.ci;
    if (!every_pixel_) std::fill_n(maps, count * p_.h * p_.w * p_.ci, 0.0f);
    for (int64_t b = 0; b < blocks_; ++b) {
      const int32_t* starts = begin.data() + b * (pixels + 1);
      int32_t per_channel = 0;
      for (const auto& input : inputs_) {
        // Where an entry's weights begin depends on how many vectors the block has: as many as the
        // block before, but at the end.
        const auto own_width = static_cast<int32_t>(rows_ * p_.kw * width_of(input));
        if (own_width != per_channel) {
          per_channel = own_width;
          for (int32_t e = 0; e < starts[pixels]; ++e) {
            offset[static_cast<size_t>(e)] =
                channel[static_cast<size_t>(b * room + e)] * per_channel;
          }
        }
        const auto add = add_row_of(p_, rows_, input.log_vectors);
        for (int64_t r = 0; r < p_.kh; r += rows_) {
          const float* own = weights + weights_at(b, input, r);
          for (int64_t image = 0; image < count; ++image) {
            float* map = maps + image * p_.h * p_.w * p_.ci + input.first;
            // Output rows of which one of the rows y, y + 1, ... is on the map.
            const int64_t top = std::max<int64_t>(0, (pad - r - rows_ + stride) / stride);
            const int64_t bottom = std::min(p_.ho, (p_.h + pad - r + stride - 1) / stride);
            for (int64_t i = top; i < bottom; ++i) {
              const int64_t y = i * stride - pad + r;
              const SumRows sums = rows_from(map, y, r, b == 0);
              add({value.get() + b * room, offset.get(), starts + (image * p_.ho + i) * p_.wo},
                  p_.wo, own, sums, p_.geometry.padding.w);
            }
          }
        }
      }
    }
  }

  // The rows of a map from y on, which rows r and on of the kernel reach. A row is fresh when the
  // first rows of the kernel that reach it do so from the first output row.
  SumRows rows_from(float* map, int64_t y, int64_t r, bool first_block) const {
    const int64_t pad = p_.geometry.padding.h;
    SumRows sums = {map + y * p_.w * p_.ci, p_.w * p_.ci, p_.ci, p_.w, {}, {}};
    for (int64_t k = 0; k < rows_; ++k, ++y) {
      const int64_t first = std::max<int64_t>(0, y + pad - p_.ho + 1) / rows_ * rows_;
      sums.on_map[k] = y >= 0 && y < p_.h;
      sums.fresh[k] = every_pixel_ && first_block && r == first &&
                      r + k == std::min(first + rows_ - 1, y + pad);
    }
    return sums;
  }

  // The entries of `pixels` pixels that are not zero: [block][entry] values and channels inside the
  // block, in the order of the pixels.
  void compact(const float* dy, int64_t pixels, int64_t room, float* value, int32_t* channel,
               int32_t* begin) const {
    std::vector<int32_t> count(static_cast<size_t>(blocks_));
    for (int64_t pixel = 0; pixel < pixels; ++pixel, dy += p_.co) {
      for (int64_t b = 0; b < blocks_; ++b) {
        int32_t& at = count[static_cast<size_t>(b)];
        begin[b * (pixels + 1) + pixel] = at;
        at += HWY_NAMESPACE::compact<false>(dy + b * block_, channels_of(b), value + b * room + at,
                                            channel + b * room + at);
      }
    }
    for (int64_t b = 0; b < blocks_; ++b) {
      begin[b * (pixels + 1) + pixels] = count[static_cast<size_t>(b)];
    }
  }

  const Arguments<PrunedDY, float>& args_;
  const Problem& p_;
  int64_t lanes_;
  int64_t rows_ = 1;  // of the kernel, together
  bool every_pixel_;  // of dX is reached by some tap
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

// Whole vectors of input channels on every instruction set, and no row of dX that no tap reaches
// unless a stride leaves some out.
bool rows_fit(const Problem& p) {
  const Geometry& g = p.geometry;
  return p.one_group() && g.stride.h <= 2 && g.stride.w <= 2 && g.dilation == Spatial(1) &&
         p.ci % 16 == 0 && (p.kw == 1 || p.kw == 3 || p.kw == 5) && g.padding.w < p.kw &&
         g.padding.h < p.kh && p.n * p.ho * p.wo > 0;
}

REGISTER_KERNEL(PrunedDY, "sparse_rows", sparse_data_gradient_anywhere)
    .computes({Product::kDataGradient})
    .on({Hardware::kCpu})
    .reads({ElementType::kFloat})
    .where(rows_fit)
    .pays([](const Problem& p) { return rule_pays("sparse_rows", p); })
    .rank(0);

}  // namespace
}  // namespace approx
#endif
