// The exact forward product and data gradient from registers, for every instruction set that
// Highway knows.
//
//   Y[n, i, j, co]  = sum over taps (r, s) and ci of W[co, r, s, ci]
//                     X[n, i stride - padding + r dilation, j ..., ci]
//   dX[n, i, j, ci] = sum over taps (r, s) and co of W[co, r, s, ci]
//                     dY[n, (i + padding - r dilation) / stride, (j ...) / stride, co]
//                     where the divisions leave no rest
//
// are the same sum: of taps that join an output pixel to an input pixel, and of the input's
// channels. A panel of output pixels by two vectors of output channels stays in registers while it
// runs. What makes it run:
// - The pixels of a panel are the same one of several images. So all of them meet the same taps,
//   and nothing of the padding is multiplied (a 4x4 map under a 3x3 kernel: 44 of 144 are padding),
//   nor, under a stride, are taps of the data gradient that meet no pixel. Any stride and dilation
//   is only another list of taps.
// - Input pixels are packed as [block of channels][row][column][image][channel], which has nothing
//   in it that is not read, and no power of two between pixels.
// - Weights are packed once, in the order in which they are read, for blocks of input channels of
//   which a panel's pixels stay in the first-level cache.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/dense/direct_simd.cpp"
#include <hwy/foreach_target.h>
// clang-format off: must follow foreach_target.h
#include <hwy/highway.h>

#include "kernels/register_tile-inl.h"
// clang-format on

#include <hwy/aligned_allocator.h>
#include <hwy/cache_control.h>

#include <algorithm>
#include <vector>

#include "kernels/dense/dense.h"
#include "kernels/probe/lanes.h"
#include "kernels/simd_variant.h"

HWY_BEFORE_NAMESPACE();
namespace approx {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// Taps times input channels of a block: a panel's weights are then 72 or 144 KiB of the
// second-level cache, and what it reads of pixels stays in the first.
constexpr int64_t kBlockTaps = 1152;
// Packed numbers of a band of rows: 256 KiB.
constexpr int64_t kBandNumbers = 64 << 10;
constexpr int64_t kItems = 24;  // at least, where there are as many
// Numbers between what is packed and what is asked for ahead of time.
constexpr int64_t kAhead = 512;

// [first, first + count)
struct Range {
  int64_t first, count;
};

// Part `index` of `parts` of nearly equal size.
Range part_of(int64_t size, int64_t parts, int64_t index) {
  const int64_t first = size * index / parts;
  return {first, size * (index + 1) / parts - first};
}

int64_t divided_up(int64_t a, int64_t b) { return (a + b - 1) / b; }

// A tap that joins an output pixel to an input pixel, in one direction.
struct Join {
  int64_t tap, input;
};

struct Joins {
  const Join *begin, *end;
};

// The taps of one direction, down or across. Input pixels are counted among those that some tap
// reads: others are not packed.
class Direction {
 public:
  struct Sizes {
    int64_t in, out, kernel, stride, padding, dilation;
  };

  Direction(Product product, const Sizes& s) {
    std::vector<int64_t> place(static_cast<size_t>(s.in), -1);
    for (int64_t i = 0; i < s.out; ++i) {
      begins_.push_back(joins_.size());
      for (int64_t tap = 0; tap < s.kernel; ++tap) {
        int64_t input = i * s.stride - s.padding + tap * s.dilation;
        if (product == Product::kDataGradient) {
          input = i + s.padding - tap * s.dilation;
          if (input % s.stride != 0) continue;
          input /= s.stride;
        }
        if (input < 0 || input >= s.in) continue;
        joins_.push_back({tap, input});
        place[static_cast<size_t>(input)] = 0;
      }
    }
    begins_.push_back(joins_.size());
    for (size_t input = 0; input < place.size(); ++input) {
      if (place[input] < 0) continue;
      place[input] = static_cast<int64_t>(inputs_.size());
      inputs_.push_back(static_cast<int64_t>(input));
    }
    for (auto& join : joins_) join.input = place[static_cast<size_t>(join.input)];
  }

  Joins of(int64_t output) const {
    const auto at = static_cast<size_t>(output);
    return {joins_.data() + begins_[at], joins_.data() + begins_[at + 1]};
  }

  // The pixels that are read.
  int64_t count() const { return static_cast<int64_t>(inputs_.size()); }
  int64_t operator[](int64_t index) const { return inputs_[static_cast<size_t>(index)]; }

  // Those that some outputs read.
  Range read_by(const Range& outputs) const {
    int64_t first = count(), last = 0;
    for (size_t at = begins_[static_cast<size_t>(outputs.first)];
         at < begins_[static_cast<size_t>(outputs.first + outputs.count)]; ++at) {
      first = std::min(first, joins_[at].input);
      last = std::max(last, joins_[at].input + 1);
    }
    return {first, std::max<int64_t>(0, last - first)};
  }

 private:
  std::vector<Join> joins_;
  std::vector<size_t> begins_;  // of each output's in joins_, and their end
  std::vector<int64_t> inputs_;
};

// What a panel reads: taps, `channels` numbers of each packed pixel that they lead to, and their
// weights, [tap][channel][vectors].
struct PanelInput {
  Joins rows, columns;
  const float* pixels;
  int64_t row_size, column_size, pixel_size;  // in numbers
  const float* weights;
  int64_t kernel_width, channels;
};

// Where its sums go, or are added to: `channels` numbers of each pixel.
struct PanelOutput {
  float* pixels;
  int64_t pixel_size, channels;
  bool add;
};

template <int kCount, int kVectors>
HWY_NOINLINE void multiply_panel(const PanelInput& in, const PanelOutput& out) {
  const Floats d;
  constexpr auto kLanes = static_cast<int64_t>(hn::MaxLanes(Floats()));
  constexpr int kBases = (kCount + 2) / 3;
  Vector sum[kCount][kVectors];
  for (int i = 0; i < kCount; ++i) {
    for (int v = 0; v < kVectors; ++v) sum[i][v] = hn::Zero(d);
  }
  const int64_t step = in.pixel_size, channels = in.channels;
  for (const Join* row = in.rows.begin; row < in.rows.end; ++row) {
    for (const Join* column = in.columns.begin; column < in.columns.end; ++column) {
      const float* weights =
          in.weights + (row->tap * in.kernel_width + column->tap) * channels * kVectors * kLanes;
      const float* base[kBases];
      base[0] = in.pixels + row->input * in.row_size + column->input * in.column_size;
      for (int b = 1; b < kBases; ++b) base[b] = base[b - 1] + 3 * step;
#pragma GCC unroll 4
      for (int64_t k = 0; k < channels; ++k, weights += kVectors * kLanes) {
        Vector weight[kVectors];
        for (int v = 0; v < kVectors; ++v) {
          weight[v] = hn::Load(d, weights + v * kLanes);
          hold(weight[v]);
        }
#pragma GCC unroll 8
        for (int i = 0; i < kCount; ++i) {
          auto factor = hn::Set(d, base[i / 3][i % 3 * step]);
          if (kVectors > 1) hold(factor);
#pragma GCC unroll 2
          for (int v = 0; v < kVectors; ++v) sum[i][v] = hn::MulAdd(factor, weight[v], sum[i][v]);
        }
        for (int b = 0; b < kBases; ++b) ++base[b];
      }
    }
  }
  if (out.channels == kVectors * kLanes) {
    for (int i = 0; i < kCount; ++i) {
      for (int v = 0; v < kVectors; ++v) {
        float* to = out.pixels + i * out.pixel_size + v * kLanes;
        hn::StoreU(out.add ? hn::Add(sum[i][v], hn::LoadU(d, to)) : sum[i][v], d, to);
      }
    }
    return;
  }
  HWY_ALIGN float numbers[kVectors * kLanes];
  for (int i = 0; i < kCount; ++i) {
    for (int v = 0; v < kVectors; ++v) hn::Store(sum[i][v], d, numbers + v * kLanes);
    float* to = out.pixels + i * out.pixel_size;
    for (int64_t c = 0; c < out.channels; ++c) to[c] = (out.add ? to[c] : 0) + numbers[c];
  }
}

using MultiplyPanel = void (*)(const PanelInput&, const PanelOutput&);

// By [vectors - 1][pixels - 1].
constexpr MultiplyPanel kMultiplyPanel[2][8] = {
    {multiply_panel<1, 1>, multiply_panel<2, 1>, multiply_panel<3, 1>, multiply_panel<4, 1>,
     multiply_panel<5, 1>, multiply_panel<6, 1>, multiply_panel<7, 1>, multiply_panel<8, 1>},
    {multiply_panel<1, 2>, multiply_panel<2, 2>, multiply_panel<3, 2>, multiply_panel<4, 2>,
     multiply_panel<5, 2>, multiply_panel<6, 2>, multiply_panel<7, 2>, multiply_panel<8, 2>}};

class DirectProduct {
 public:
  explicit DirectProduct(const Arguments<Dense, float>& args)
      : args_(args),
        p_(args.problem),
        forward_(p_.product == Product::kForward),
        in_(forward_ ? p_.ci : p_.co),
        out_(forward_ ? p_.co : p_.ci),
        rows_(p_.product, sizes(&Spatial::h, p_.h, p_.ho, p_.kh)),
        columns_(p_.product, sizes(&Spatial::w, p_.w, p_.wo, p_.kw)),
        taps_(p_.kh * p_.kw),
        out_rows_(forward_ ? p_.ho : p_.h) {
    in_blocks_ = divided_up(in_, std::max<int64_t>(1, kBlockTaps / taps_));
    step_ = divided_up(in_, in_blocks_);
    in_blocks_ = divided_up(in_, step_);
    out_blocks_ = divided_up(out_, width());
    groups_ = divided_up(p_.n, kTileRows);
    const int64_t row = columns_.count() * divided_up(p_.n, groups_) * in_;
    const int64_t fit = std::max<int64_t>(1, kBandNumbers / std::max<int64_t>(1, row));
    bands_ = std::min(out_rows_, divided_up(rows_.count(), fit));
    bands_ = std::max<int64_t>(bands_, 1);
    parts_ = std::clamp<int64_t>(kItems / (groups_ * bands_), 1, out_blocks_);
  }

  void compute(const Team& team) {
    packed_ = hwy::AllocateAligned<float>(static_cast<size_t>(out_blocks_ * width() * taps_ * in_));
    team.share(out_blocks_ * in_blocks_,
               [&](int64_t index) { pack_weights(index / in_blocks_, index % in_blocks_); });
    team.share(groups_ * bands_ * parts_, [&](int64_t index) {
      const int64_t band = index / parts_;
      compute_item(part_of(p_.n, groups_, band / bands_), part_of(out_rows_, bands_, band % bands_),
                   part_of(out_blocks_, parts_, index % parts_));
    });
  }

 private:
  static constexpr int64_t lanes() { return static_cast<int64_t>(hn::MaxLanes(Floats())); }
  static constexpr int64_t width() { return kTileVectors * lanes(); }

  Direction::Sizes sizes(int64_t Spatial::*way, int64_t of_x, int64_t of_y, int64_t kernel) const {
    const Geometry& g = p_.geometry;
    return {.in = forward_ ? of_x : of_y,
            .out = forward_ ? of_y : of_x,
            .kernel = kernel,
            .stride = g.stride.*way,
            .padding = g.padding.*way,
            .dilation = g.dilation.*way};
  }

  int64_t vectors(int64_t out_block) const {
    return std::min(kTileVectors, divided_up(out_ - out_block * width(), lanes()));
  }
  Range in_block(int64_t index) const {
    return {index * step_, std::min(step_, in_ - index * step_)};
  }

  float* weights(int64_t out_block, int64_t block) const {
    return packed_.get() + out_block * width() * taps_ * in_ +
           in_block(block).first * taps_ * vectors(out_block) * lanes();
  }

  // [tap][input channel][vectors], filled up with zeros.
  void pack_weights(int64_t out_block, int64_t block) const {
    const Floats d;
    const Range channels = in_block(block);
    const int64_t first = out_block * width(), wide = vectors(out_block) * lanes();
    const int64_t count = std::min(wide, out_ - first);
    float* to = weights(out_block, block);
    for (int64_t tap = 0; tap < taps_; ++tap, to += channels.count * wide) {
      if (forward_) {
        for (int64_t o = 0; o < wide; ++o) {
          const float* from = args_.w + ((first + o) * taps_ + tap) * in_ + channels.first;
          for (int64_t k = 0; k < channels.count; ++k) to[k * wide + o] = o < count ? from[k] : 0;
        }
      } else {
        for (int64_t k = 0; k < channels.count; ++k) {
          const float* from = args_.w + ((channels.first + k) * taps_ + tap) * out_ + first;
          if (count == width()) {
            for (int64_t o = 0; o < width(); o += lanes()) {
              hn::Store(hn::LoadU(d, from + o), d, to + k * width() + o);
            }
          } else {
            std::fill(std::copy_n(from, count, to + k * wide), to + (k + 1) * wide, 0.0F);
          }
        }
      }
    }
  }

  void compute_item(const Range& images, const Range& band, const Range& out_blocks) const {
    const Range read = rows_.read_by(band);
    const int64_t column_size = images.count * step_, row_size = columns_.count() * column_size;
    const int64_t block_size = read.count * row_size;
    auto pixels = hwy::AllocateAligned<float>(static_cast<size_t>(in_blocks_ * block_size + 1));
    pack_pixels(images, read, pixels.get());
    const int64_t width_out = forward_ ? p_.wo : p_.w, image_size = p_.slice_size();
    for (int64_t o = out_blocks.first; o < out_blocks.first + out_blocks.count; ++o) {
      const auto multiply = kMultiplyPanel[vectors(o) - 1][images.count - 1];
      for (int64_t b = 0; b < in_blocks_; ++b) {
        PanelInput in = {.rows = {},
                         .columns = {},
                         .pixels = pixels.get() + b * block_size - read.first * row_size,
                         .row_size = row_size,
                         .column_size = column_size,
                         .pixel_size = step_,
                         .weights = weights(o, b),
                         .kernel_width = p_.kw,
                         .channels = in_block(b).count};
        PanelOutput out = {.pixels = nullptr,
                           .pixel_size = image_size,
                           .channels = std::min(width(), out_ - o * width()),
                           .add = b > 0};
        for (int64_t i = band.first; i < band.first + band.count; ++i) {
          in.rows = rows_.of(i);
          out.pixels = args_.slice(images.first) + i * width_out * out_ + o * width();
          for (int64_t j = 0; j < width_out; ++j, out.pixels += out_) {
            in.columns = columns_.of(j);
            multiply(in, out);
          }
        }
      }
    }
  }

  void pack_pixels(const Range& images, const Range& rows, float* packed) const {
    const Floats d;
    const float* input = forward_ ? args_.x : args_.dy;
    const int64_t height = forward_ ? p_.h : p_.ho, width = forward_ ? p_.w : p_.wo;
    const int64_t block_size = rows.count * columns_.count() * images.count * step_;
    for (int64_t i = 0; i < images.count; ++i) {  // an image's rows follow each other in memory
      for (int64_t y = 0; y < rows.count; ++y) {
        const float* row =
            input + ((images.first + i) * height + rows_[rows.first + y]) * width * in_;
        float* to = packed + (y * columns_.count() * images.count + i) * step_;
        for (int64_t x = 0; x < columns_.count(); ++x, to += images.count * step_) {
          const float* from = row + columns_[x] * in_;
          for (int64_t b = 0; b < in_blocks_; ++b) {
            const Range channels = in_block(b);
            float* block = to + b * block_size;
            int64_t k = 0;
            for (; k + 2 * lanes() <= channels.count; k += 2 * lanes()) {
              hwy::Prefetch(from + channels.first + k + kAhead);
              const auto first = hn::LoadU(d, from + channels.first + k);
              const auto second = hn::LoadU(d, from + channels.first + k + lanes());
              hn::StoreU(first, d, block + k);
              hn::StoreU(second, d, block + k + lanes());
            }
            for (; k < channels.count; ++k) block[k] = from[channels.first + k];
          }
        }
      }
    }
  }

  const Arguments<Dense, float>& args_;
  const Problem& p_;
  bool forward_;
  int64_t in_, out_;  // channels
  Direction rows_, columns_;
  int64_t taps_;
  int64_t out_rows_;
  int64_t in_blocks_ = 1, step_ = 1;            // blocks of input channels, and the channels of one
  int64_t out_blocks_ = 1;                      // blocks of output channels
  int64_t groups_ = 1, bands_ = 1, parts_ = 1;  // of images, rows and output channels
  hwy::AlignedFreeUniquePtr<float[]> packed_;
};

void direct_product(const Arguments<Dense, float>& args, const Team& team) {
  DirectProduct(args).compute(team);
}

}  // namespace HWY_NAMESPACE
}  // namespace approx
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace approx {
namespace {

// Measured in docs/internals/performance.md. Panels must be full of images, and vectors of
// channels. Under a stride the library's data gradient multiplies what meets no pixel; without one
// it is slower than this on maps of few pixels, and in AVX2's width on others that are not large.
bool direct_pays(const Problem& p) {
  if (direct_pays_on_small_maps(p)) return true;
  constexpr int64_t kImages = 64, kChannels = 16, kSmallMap = 256;
  if (p.n < kImages || p.ci < kChannels || p.co < kChannels) return false;
  const bool strides = p.geometry.stride != Spatial(1);
  const bool forward = p.product == Product::kForward;
  const int64_t lanes = float_lanes();
  if (lanes < kAvx2Lanes) return false;
  if (lanes > kAvx2Lanes) return strides && !forward;
  return strides || (p.kh * p.kw >= 9 && (forward || p.h * p.w <= kSmallMap));
}

REGISTER_SIMD_KERNEL(Dense, "direct", direct_product)
    .computes({Product::kForward, Product::kDataGradient})
    .reads({ElementType::kFloat})
    .where([](const Problem& p) { return p.one_group() && p.n * p.ho * p.wo * p.ci * p.co > 0; })
    .pays(direct_pays)
    .rank(4);

}  // namespace
}  // namespace approx
#endif
