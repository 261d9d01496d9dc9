// The weight gradient of 8-bit integers, for processors with AVX512_VNNI.
//
//   dW[co, r, s, ci] = sum over pixels (n, i, j) of
//                      dY[n, i, j, co] X[n, i stride - padding + r dilation, j ..., ci]
//
// Four pixels make a quad: four neighbours of a row, or, on small maps, those at one place of four
// images. dY is packed with the output channels in the lanes. X is written out with the pixels of a
// channel side by side: a tap is then a shift by some bytes. With a stride the columns of X are
// split by their remainder, so that the pixels of a tap are neighbours again. Some images at a time
// are rounded, and add to sums in float.
#include <hwy/highway.h>

#include "kernels/quantized/quantized.h"

#if HWY_ARCH_X86 && HWY_COMPILER_GCC_ACTUAL
#include <algorithm>
#include <bit>
#include <vector>

#include "kernels/quantized/vnni.h"

namespace approx::vnni {
namespace {

// A linear layer has one pixel for each example. They are taken for the pixels of one image.
Problem with_long_rows(const Problem& problem) {
  Problem p = problem;
  if (p.h * p.w * p.kh * p.kw == 1 && p.ho * p.wo == 1 && p.geometry.padding == Spatial(0)) {
    p.geometry.stride = 1;
    p.w = p.wo = p.n;
    p.n = 1;
  }
  return p;
}

}  // namespace

HWY_PUSH_ATTRIBUTES(APPROX_VNNI_TARGET)
namespace {

// The integers of four pixels' vectors, as the bytes of each lane.
APPROX_INLINE inline __m512i joined(const __m512i (&pixel)[kQuad]) {
  const __m512i byte = _mm512_set1_epi32(0xFF);
  __m512i quad = _mm512_and_si512(pixel[0], byte);
  quad = _mm512_or_si512(quad, _mm512_slli_epi32(_mm512_and_si512(pixel[1], byte), 8));
  quad = _mm512_or_si512(quad, _mm512_slli_epi32(_mm512_and_si512(pixel[2], byte), 16));
  return _mm512_or_si512(quad, _mm512_slli_epi32(pixel[3], 24));
}

template <typename Real>
class WeightProduct {
 public:
  explicit WeightProduct(const Arguments<Quantized, Real>& args)
      : p_(with_long_rows(args.problem)),
        args_(args),
        panels_(panels_of(p_.co)),
        taps_(p_.kh * p_.kw),
        sums_rows_(p_.ci * taps_) {
    lay_out(/*by_images=*/true);
    if (!pays_by_images()) lay_out(/*by_images=*/false);
    groups_ =
        std::clamp<int64_t>(most_groups(), 1, (p_.n + images_of_group() - 1) / images_of_group());
  }

  void compute(const Team& team) {
    x_scales_ = scales_of_channels(args_.x, p_.h * p_.w, p_.ci, team);
    dy_scales_ = scales_of_channels(args_.dy, p_.ho * p_.wo, p_.co, team);
    const int64_t width = round_up(p_.co, kLanes);
    x_ = allocate<uint8_t>(groups_ * p_.ci * plane_);
    std::fill_n(x_.get(), groups_ * p_.ci * plane_ + 64, uint8_t{kOffset});
    dy_ = allocate<int8_t>(groups_ * quads_of_group() * kQuad * width);
    sums_ = allocate<float>(sums_rows_ * width);
    std::fill_n(sums_.get(), sums_rows_ * width, 0.0F);
    const int64_t all = (p_.n + images_of_group() - 1) / images_of_group();
    for (int64_t first = 0; first < all; first += groups_) {
      add_groups(first, std::min(groups_, all - first), team);
    }
    team.share(p_.co, [&](int64_t co) { write_row(co); });
  }

  static bool fits(const Problem& problem) {
    const Problem p = with_long_rows(problem);
    return has_products() && p.one_group() && p.n * p.ho * p.wo > 0 && p.ci > 0 && p.co > 0 &&
           p.ho * round_up(p.wo, kQuad) <= kMostPixels;
  }

 private:
  static constexpr int64_t kMostPixels = 60'000;  // of which sums of 32 bits can be

  // Four pixels of one channel, with `distance` numbers between them. Only the first `count` are
  // there.
  struct Quad {
    const Real* first;
    int64_t count, distance;
    bool has(int64_t q) const { return q < count; }
    const Real* at(int64_t q) const { return first + q * distance; }
  };

  void lay_out(bool by_images) {
    const Geometry& g = p_.geometry;
    by_images_ = by_images;
    quads_ = by_images ? p_.wo : (p_.wo + kQuad - 1) / kQuad;
    const int64_t last_column = (p_.wo - 1) * g.stride.w + (p_.kw - 1) * g.dilation.w;
    const int64_t columns = std::max(last_column + 1, g.padding.w + p_.w);
    // A last quad of columns may be read, and written, behind the last column.
    const int64_t length = std::max((columns + g.stride.w - 1) / g.stride.w,
                                    (p_.kw - 1) * g.dilation.w / g.stride.w + quads_ * kQuad);
    length_ = by_images ? (columns + g.stride.w - 1) / g.stride.w * kQuad
                        : round_up(length + kQuad - 1, kQuad);
    rows_ = std::max((p_.ho - 1) * g.stride.h + (p_.kh - 1) * g.dilation.h + 1, g.padding.h + p_.h);
    plane_ = g.stride.w * rows_ * length_;
  }

  // Whether quads of images take less time than quads of columns, and there is room for them. A run
  // costs about one quad besides its own.
  bool pays_by_images() const {
    const auto padded = [](int64_t count) {
      return static_cast<double>(round_up(count, kQuad)) / static_cast<double>(count);
    };
    const auto width = static_cast<double>(p_.wo);
    const double of_images = padded(p_.n) * (width + 1) / width;
    const double of_columns = padded(p_.wo) + static_cast<double>(kQuad) / width;
    return of_images < of_columns && most_groups() > 0;
  }

  // How many groups are computed together. Their quads of a panel are read for every tile of sums,
  // and stay in a core's cache; X is read once for each panel. Sums are read and written once for
  // all of these groups.
  int64_t most_groups() const {
    constexpr int64_t kPanelBytes = 256 << 10, kInputBytes = 4 << 20;
    const int64_t bytes = quads_of_group() * kQuad;
    const int64_t of_panel = bytes * std::min(round_up(p_.co, kLanes), kMostVectors * kLanes);
    return std::min({kPanelBytes / of_panel, kInputBytes / (p_.ci * plane_), kMostPixels / bytes});
  }

  int64_t images_of_group() const { return by_images_ ? kQuad : 1; }
  int64_t columns_of_quad() const { return by_images_ ? 1 : kQuad; }
  int64_t quads_of_group() const { return p_.ho * quads_; }
  // The quad that begins with column j of a row of image n, `images` numbers from image to image.
  // The columns of a quad are `step` numbers apart, and `columns` of them are left in the row.
  Quad quad_of(const Real* first, int64_t n, int64_t images, int64_t columns, int64_t step) const {
    return by_images_ ? Quad{first, p_.n - n, images} : Quad{first, columns, step};
  }

  ScaleList scales_of_channels(const Real* from, int64_t pixels, int64_t channels,
                               const Team& team) const {
    // In parts, so that a linear layer's long row has several.
    constexpr int64_t kPart = 64;
    const int64_t all = p_.n * pixels, parts = std::min((all + kPart - 1) / kPart, int64_t{64});
    const auto count = static_cast<size_t>(channels);
    std::vector<uint32_t> largest(static_cast<size_t>(parts) * count);
    team.share(parts, [&](int64_t part) {
      const int64_t begin = all * part / parts, end = all * (part + 1) / parts;
      uint32_t* own = largest.data() + static_cast<size_t>(part) * count;
      for (int64_t at = begin; at < end; at += kPart) {
        raise_to_columns(from + at * channels, std::min(kPart, end - at), channels, own);
      }
    });
    for (size_t i = count; i < largest.size(); ++i) {
      largest[i % count] = std::max(largest[i % count], largest[i]);
    }
    largest.resize(count);
    return scales_of(std::move(largest), args_.scales);
  }

  // Adds what the groups of images [first, first + count) give.
  void add_groups(int64_t first, int64_t count, const Team& team) {
    // Rows of a group for each item, so that one group has several.
    constexpr int64_t kItemRows = 8;
    const int64_t of_x = (p_.h + kItemRows - 1) / kItemRows,
                  of_dy = (p_.ho + kItemRows - 1) / kItemRows;
    team.share(count * (of_x + of_dy), [&](int64_t item) {
      const int64_t group = item / (of_x + of_dy), part = item % (of_x + of_dy);
      const int64_t row = (part < of_x ? part : part - of_x) * kItemRows;
      const int64_t n = (first + group) * images_of_group();
      if (part < of_x) {
        for (int64_t y = row; y < std::min(row + kItemRows, p_.h); ++y) write_inputs(n, group, y);
      } else {
        RowDraws draws;
        for (int64_t i = row; i < std::min(row + kItemRows, p_.ho); ++i) {
          write_outputs(n, group, count, i, draws);
        }
      }
    });
    std::vector<int64_t> runs;
    for (int64_t group = 0; group < count; ++group) {
      for (int64_t i = 0; i < p_.ho; ++i) {
        runs.push_back(group * plane_ + i * p_.geometry.stride.h * length_);
      }
    }
    std::vector<int32_t> offsets(static_cast<size_t>(round_up(p_.co, kLanes)));
    for (const auto& panel : panels_) {
      multiply_offsets(panel, quads_at(panel, 0, count), count * p_.ho, quads_, offsets.data());
    }
    constexpr int64_t kItemTiles = 8;
    const int64_t tiles = (sums_rows_ + kRows - 1) / kRows,
                  items = (tiles + kItemTiles - 1) / kItemTiles;
    team.share(static_cast<int64_t>(panels_.size()) * items, [&](int64_t item) {
      const Panel& panel = panels_[static_cast<size_t>(item / items)];
      const int64_t begin = item % items * kItemTiles;
      const auto sums = allocate<int32_t>(kTileSums);
      for (int64_t tile = begin; tile < std::min(begin + kItemTiles, tiles); ++tile) {
        add_tile(panel, tile * kRows, count, runs, offsets.data(), sums.get());
      }
    });
  }

  // Row y of the images from n on, as the group `index` of those together.
  void write_inputs(int64_t n, int64_t index, int64_t y) {
    const int64_t stride = p_.geometry.stride.w, pad = p_.geometry.padding.w;
    const int64_t image = p_.h * p_.w * p_.ci;
    const Real* row = args_.x + n * image + y * p_.w * p_.ci;
    // The next row is fetched from memory while this one is written.
    for (int64_t q = 0; q < std::min(images_of_group(), p_.n - n); ++q) {
      for (int64_t at = 0; at < p_.w * p_.ci; at += kLanes) {
        __builtin_prefetch(row + q * image + p_.w * p_.ci + at);
      }
    }
    uint8_t* to = x_.get() + index * plane_ + (y + p_.geometry.padding.h) * length_;
    const int64_t place_of_column = kQuad / columns_of_quad();
    const int64_t channel = groups_ * plane_;
    const __m512i steps = steps_of(channel);
    for (int64_t c = 0; c < p_.ci; c += kLanes) {
      const __mmask16 lanes = first_lanes(p_.ci - c);
      const __m512 inverse = _mm512_maskz_loadu_ps(lanes, x_scales_.inverse.data() + c);
      for (int64_t first = 0; first < std::min(stride, p_.w); ++first) {
        // Columns first, first + stride, ... are neighbours.
        const int64_t phase = (first + pad) % stride;
        uint8_t* place =
            to + c * channel + phase * rows_ * length_ + (first + pad) / stride * place_of_column;
        for (int64_t j = first; j < p_.w; j += columns_of_quad() * stride, place += kQuad) {
          const int64_t left = (p_.w - j + stride - 1) / stride;
          const auto from = quad_of(row + j * p_.ci + c, n, image, left, stride * p_.ci);
          __m512i pixel[kQuad];
          for (int64_t q = 0; q < kQuad; ++q) {
            pixel[q] =
                from.has(q) ? to_nearest(load(from.at(q), lanes), inverse) : _mm512_setzero_si512();
          }
          const __m512i quad =
              _mm512_xor_si512(joined(pixel), _mm512_set1_epi32(static_cast<int>(0x80808080)));
          _mm512_mask_i32scatter_epi32(place, lanes, steps, quad, 1);
        }
      }
    }
  }

  // Where the quads of group `index` of `count` begin in a panel.
  int8_t* quads_at(const Panel& panel, int64_t index, int64_t count) const {
    return dy_.get() + (panel.first * count + index * panel.width()) * quads_of_group() * kQuad;
  }

  // Draws of a row of each image of a group.
  struct RowDraws {
    std::vector<float> room[kQuad];
    const float* of[kQuad] = {};
  };

  // Row i of the images from n on, as the group `index` of `count` together.
  void write_outputs(int64_t n, int64_t index, int64_t count, int64_t i, RowDraws& draws) {
    const int64_t image = p_.ho * p_.wo * p_.co, numbers = p_.wo * p_.co;
    const int64_t first = n * image + i * numbers;
    const Real* row = args_.dy + first;
    if (args_.by_chance) {
      for (int64_t q = 0; q < std::min(images_of_group(), p_.n - n); ++q) {
        // The row is fetched from memory while its draws are computed.
        for (int64_t at = 0; at < numbers; at += kLanes) __builtin_prefetch(row + q * image + at);
        draws.of[q] = draws_of(args_.rng, first + q * image, numbers, draws.room[q]);
      }
    }
    for (const auto& panel : panels_) {
      int8_t* to = quads_at(panel, index, count) + i * quads_ * kQuad * panel.width();
      for (int64_t c = 0; c < panel.width(); c += kLanes) {
        const int64_t channel = panel.first + c;
        const __mmask16 lanes = first_lanes(panel.columns - c);
        const __m512 inverse = _mm512_maskz_loadu_ps(lanes, dy_scales_.inverse.data() + channel);
        for (int64_t quad = 0; quad < quads_; ++quad) {
          const int64_t column = quad * columns_of_quad(), at = column * p_.co + channel;
          const auto from = quad_of(row + at, n, image, p_.wo - column, p_.co);
          __m512i pixel[kQuad];
          for (int64_t q = 0; q < kQuad; ++q) {
            if (!from.has(q)) {
              pixel[q] = _mm512_setzero_si512();
            } else if (!args_.by_chance) {
              pixel[q] = to_nearest(load(from.at(q), lanes), inverse);
            } else {
              const float* uniform = by_images_ ? draws.of[q] + at : draws.of[0] + at + q * p_.co;
              pixel[q] = by_chance(load(from.at(q), lanes), inverse,
                                   _mm512_maskz_loadu_ps(lanes, uniform));
            }
          }
          _mm512_store_si512(to + (quad * panel.width() + c) * kQuad, joined(pixel));
        }
      }
    }
  }

  // Six rows of sums: input channel by input channel, tap by tap.
  void add_tile(const Panel& panel, int64_t first, int64_t count, const std::vector<int64_t>& runs,
                const int32_t* offsets, int32_t* sums) {
    const Geometry& g = p_.geometry;
    Rows rows{{}, runs.data(), static_cast<int64_t>(runs.size()), quads_};
    const int64_t own = std::min(kRows, sums_rows_ - first);
    for (int64_t r = 0; r < kRows; ++r) {
      const int64_t at = first + std::min(r, own - 1), ci = at / taps_, tap = at % taps_;
      const int64_t down = tap / p_.kw * g.dilation.h, across = tap % p_.kw * g.dilation.w;
      rows.row[r] = x_.get() + ci * groups_ * plane_ +
                    (across % g.stride.w * rows_ + down) * length_ +
                    across / g.stride.w * (kQuad / columns_of_quad());
    }
    kMultiply[panel.vectors - 1](rows, quads_at(panel, 0, count), sums);
    float* to = sums_.get() + panel.first * sums_rows_ + first * panel.width();
    for (int64_t r = 0; r < own; ++r) {
      for (int64_t c = 0; c < panel.width(); c += kLanes) {
        const __m512i sum = _mm512_sub_epi32(_mm512_load_si512(sums + r * panel.width() + c),
                                             _mm512_loadu_si512(offsets + panel.first + c));
        float* own_sums = to + r * panel.width() + c;
        _mm512_store_ps(own_sums, _mm512_add_ps(_mm512_load_ps(own_sums), _mm512_cvtepi32_ps(sum)));
      }
    }
  }

  // The weights of an output channel.
  void write_row(int64_t co) const {
    const Panel& panel = panels_[static_cast<size_t>(co / (kMostVectors * kLanes))];
    const float* sums = sums_.get() + panel.first * sums_rows_ + (co - panel.first);
    const __m512i steps = steps_of(taps_ * panel.width());
    const __m512 scale = _mm512_set1_ps(dy_scales_.value[static_cast<size_t>(co)]);
    for (int64_t tap = 0; tap < taps_; ++tap) {
      for (int64_t c = 0; c < p_.ci; c += kLanes) {
        const __mmask16 lanes = first_lanes(p_.ci - c);
        const __m512 sum = _mm512_mask_i32gather_ps(_mm512_setzero_ps(), lanes, steps,
                                                    sums + (c * taps_ + tap) * panel.width(), 4);
        const __m512 by =
            _mm512_mul_ps(scale, _mm512_maskz_loadu_ps(lanes, x_scales_.value.data() + c));
        store(_mm512_mul_ps(sum, by), lanes, args_.out + (co * taps_ + tap) * p_.ci + c);
      }
    }
  }

  const Problem p_;
  const Arguments<Quantized, Real>& args_;
  const std::vector<Panel> panels_;
  const int64_t taps_, sums_rows_;
  // An image alone, or four if their pixels make the quads, is a group.
  bool by_images_ = false;
  int64_t groups_ = 1;              // together
  int64_t quads_ = 0;               // of a row of outputs
  int64_t length_ = 0, rows_ = 0;   // of a plane of inputs: bytes, rows
  int64_t plane_ = 0;               // bytes of a channel of X in a group
  ScaleList x_scales_, dy_scales_;  // of the input channels of x, the output channels of dY
  AlignedNumbers<uint8_t> x_;       // [channel][group][remainder][row][column][image of the group]
  AlignedNumbers<int8_t> dy_;       // [panel][group][row][quad][column][pixel of the quad]
  AlignedNumbers<float> sums_;      // [panel][input channel][tap][column]
};

void integer_weights(const Arguments<Quantized, float>& args, const Team& team) {
  WeightProduct<float>(args).compute(team);
}

void integer_weights_bf16(const Arguments<Quantized, BFloat16>& args, const Team& team) {
  WeightProduct<BFloat16>(args).compute(team);
}

}  // namespace
HWY_POP_ATTRIBUTES

namespace {

bool integer_weights_fit(const Problem& p) { return WeightProduct<float>::fits(p); }

REGISTER_KERNEL(Quantized, "vnni_weights", integer_weights)
    .computes({Product::kWeightGradient})
    .on({Hardware::kCpu})
    .reads({ElementType::kFloat})
    .where(integer_weights_fit)
    .rank(0);

REGISTER_KERNEL(Quantized, "vnni_weights_bf16", integer_weights_bf16)
    .computes({Product::kWeightGradient})
    .on({Hardware::kCpu})
    .where(integer_weights_fit)
    .rank(0);

}  // namespace
}  // namespace approx::vnni
#endif
