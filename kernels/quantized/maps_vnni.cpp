// The forward product and the data gradient of 8-bit integers, for processors with AVX512_VNNI.
//
//   Y[n, i, j, co]  = sum of X[n, i stride - padding + r dilation, ..., ci] W[co, r, s, ci]
//   dX[n, y, x, ci] = sum of dY[n, (y + padding - r dilation) / stride, ..., co] W[co, r, s, ci]
//
// The map that is read is written out in integers, padded, with the channels last, a few images at
// a time while they are in the cache. A pixel of the result is a row of a tile of sums, and its
// taps are runs of channels in that map. In dX only the taps count that a whole number of strides
// reaches, so its pixels fall into classes by their remainder; each class has its own taps.
#include <hwy/highway.h>

#include "kernels/quantized/quantized.h"

#if HWY_ARCH_X86 && HWY_COMPILER_GCC_ACTUAL
#include <algorithm>
#include <bit>
#include <optional>
#include <vector>

#include "kernels/memory_pool.h"
#include "kernels/quantized/vnni.h"

namespace approx::vnni {
namespace {

// The map that is read, as integers: rows and columns with the padding.
struct IntegerMap {
  int64_t height = 0, width = 0, channels = 0;  // of the numbers
  int64_t pad_top = 0, pad_left = 0, rows = 0, columns = 0;
  int64_t depth() const { return round_up(channels, kQuad); }
  int64_t bytes() const { return rows * columns * depth(); }
  int64_t at(int64_t row, int64_t column) const { return (row * columns + column) * depth(); }
};

// Pixels of the result that read the same taps.
struct PixelClass {
  int64_t first_tap = 0;         // of all taps in the order of packing
  std::vector<int64_t> offsets;  // where each tap's bytes begin, from the pixel's base on
  std::vector<int64_t> bases;    // of each pixel: its base in the map
  std::vector<int64_t> pixels;   // and its place in the result
};

struct Direction {
  int64_t in, out, kernel, stride, padding, dilation;
};

struct GroupMemory {
  AlignedNumbers<uint8_t> map;
  AlignedNumbers<int32_t> sums;
  std::vector<float> draws, scales;
};

}  // namespace

HWY_PUSH_ATTRIBUTES(APPROX_VNNI_TARGET)
namespace {

template <typename Real>
class MapProduct {
 public:
  explicit MapProduct(const Arguments<Quantized, Real>& args)
      : p_(args.problem),
        args_(args),
        is_forward_(p_.product == Product::kForward),
        from_(is_forward_ ? args.x : args.dy),
        by_chance_(!is_forward_ && args.by_chance),
        columns_(is_forward_ ? p_.co : p_.ci),
        pixels_(is_forward_ ? p_.ho * p_.wo : p_.h * p_.w),
        panels_(panels_of(columns_)) {
    const Geometry& g = p_.geometry;
    const Direction down{p_.h, p_.ho, p_.kh, g.stride.h, g.padding.h, g.dilation.h};
    const Direction across{p_.w, p_.wo, p_.kw, g.stride.w, g.padding.w, g.dilation.w};
    is_forward_ ? lay_out_forward(down, across) : lay_out_gradient(down, across);
    constexpr int64_t kGroupBytes = 192 << 10;
    images_ = std::clamp<int64_t>(kGroupBytes / std::max<int64_t>(map_.bytes(), 1), 1,
                                  std::max<int64_t>(p_.n / 4, 1));
  }

  void compute(const Team& team) {
    pack_weights(team);
    if (args_.scales == Scales::kTensor) whole_scale_ = scale_of_all(team);
    MemoryPool<GroupMemory> memories;
    team.share((p_.n + images_ - 1) / images_, [&](int64_t group) {
      GroupMemory memory = memories.take([&] { return new_memory(); });
      const int64_t first = group * images_, count = std::min(images_, p_.n - first);
      for (int64_t image = 0; image < count; ++image) write_image(first + image, image, memory);
      for (size_t panel = 0; panel < panels_.size(); ++panel) {
        for (const auto& of : classes_) multiply_class(first, count, panel, of, memory);
      }
      memories.give_back(std::move(memory));
    });
  }

 private:
  void lay_out_forward(const Direction& down, const Direction& across) {
    map_ = {.height = p_.h, .width = p_.w, .channels = p_.ci};
    map_.pad_top = down.padding;
    map_.pad_left = across.padding;
    const auto size = [](const Direction& d) {
      return std::max((d.out - 1) * d.stride + (d.kernel - 1) * d.dilation + 1, d.padding + d.in);
    };
    map_.rows = size(down);
    map_.columns = size(across);
    PixelClass all;
    for (int64_t r = 0; r < p_.kh; ++r) {
      for (int64_t s = 0; s < p_.kw; ++s) {
        taps_.push_back(r * p_.kw + s);
        all.offsets.push_back(map_.at(r * down.dilation, s * across.dilation));
      }
    }
    for (int64_t i = 0; i < p_.ho; ++i) {
      for (int64_t j = 0; j < p_.wo; ++j) {
        all.bases.push_back(map_.at(i * down.stride, j * across.stride));
        all.pixels.push_back(i * p_.wo + j);
      }
    }
    classes_.push_back(std::move(all));
  }

  void lay_out_gradient(const Direction& down, const Direction& across) {
    map_ = {.height = p_.ho, .width = p_.wo, .channels = p_.co};
    const auto before = [](const Direction& d) { return (d.kernel - 1) * d.dilation / d.stride; };
    const auto size = [&](const Direction& d) {
      return before(d) + std::max(d.out, (d.in - 1 + d.padding) / d.stride + 1);
    };
    map_.pad_top = before(down);
    map_.pad_left = before(across);
    map_.rows = size(down);
    map_.columns = size(across);
    for (int64_t a = 0; a < down.stride; ++a) {
      for (int64_t b = 0; b < across.stride; ++b)
        classes_.push_back(gradient_class(down, across, a, b));
    }
  }

  // Pixels (y, x) with y + padding = a and x + padding = b, up to whole strides.
  PixelClass gradient_class(const Direction& down, const Direction& across, int64_t a, int64_t b) {
    PixelClass of;
    of.first_tap = static_cast<int64_t>(taps_.size());
    // How many strides before the pixel's own a tap lies; nothing if it is between two.
    const auto strides = [](const Direction& d, int64_t tap, int64_t remainder) {
      return (tap * d.dilation - remainder) % d.stride == 0
                 ? std::optional((tap * d.dilation - remainder) / d.stride)
                 : std::nullopt;
    };
    for (int64_t r = 0; r < p_.kh; ++r) {
      for (int64_t s = 0; s < p_.kw; ++s) {
        const auto up = strides(down, r, a), left = strides(across, s, b);
        if (!up || !left) continue;
        taps_.push_back(r * p_.kw + s);
        of.offsets.push_back(map_.at(-*up, -*left));
      }
    }
    for (int64_t y = 0; y < p_.h; ++y) {
      if ((y + down.padding) % down.stride != a) continue;
      for (int64_t x = 0; x < p_.w; ++x) {
        if ((x + across.padding) % across.stride != b) continue;
        of.bases.push_back(map_.at((y + down.padding) / down.stride + map_.pad_top,
                                   (x + across.padding) / across.stride + map_.pad_left));
        of.pixels.push_back(y * p_.w + x);
      }
    }
    return of;
  }

  Scale scale_of_all(const Team& team) const {
    const int64_t image = map_.height * map_.width * map_.channels;
    std::vector<uint32_t> largest(static_cast<size_t>(p_.n));
    team.share(p_.n, [&](int64_t n) {
      largest[static_cast<size_t>(n)] = largest_of(from_ + n * image, image);
    });
    return Scale::of(std::bit_cast<float>(*std::ranges::max_element(largest)));
  }

  // The weights in integers, packed by [panel][tap][quad][column][channel of the quad], and for
  // each class and column what the offset of the other operand adds.
  void pack_weights(const Team& team) {
    const int64_t taps = p_.kh * p_.kw, row = taps * p_.ci;
    column_scales_.assign(static_cast<size_t>(round_up(columns_, kLanes)), 0);
    const auto inverse = scale_columns(row);
    const auto integers = allocate<int8_t>(p_.co * row);
    team.share(p_.co, [&](int64_t co) {
      for (int64_t tap = 0; tap < taps; ++tap) {
        for (int64_t c = 0; c < p_.ci; c += kLanes) {
          const __mmask16 lanes = first_lanes(p_.ci - c);
          const __m512 by = is_forward_ ? _mm512_set1_ps(inverse[static_cast<size_t>(co)])
                                        : _mm512_maskz_loadu_ps(lanes, inverse.data() + c);
          const int64_t at = co * row + tap * p_.ci + c;
          const __m512i whole = to_nearest(load(args_.w + at, lanes), by);
          _mm_mask_storeu_epi8(integers.get() + at, lanes, _mm512_cvtepi32_epi8(whole));
        }
      }
    });
    const int64_t depth = map_.depth(), all = static_cast<int64_t>(taps_.size()) * depth;
    packed_ = allocate<int8_t>(all * round_up(columns_, kLanes));
    offsets_.assign(classes_.size() * static_cast<size_t>(round_up(columns_, kLanes)), 0);
    team.share(static_cast<int64_t>(panels_.size()), [&](int64_t index) {
      const Panel& panel = panels_[static_cast<size_t>(index)];
      int8_t* to = packed_.get() + panel.first * all;
      for (const int64_t tap : taps_) {
        const int8_t* from = integers.get() + tap * p_.ci;
        is_forward_ ? pack_outputs(from, row, panel, to) : pack_inputs(from, row, panel, to);
        to += depth * panel.width();
      }
      for (size_t of = 0; of < classes_.size(); ++of) {
        multiply_offsets(panel, panel_of(panel, classes_[of]),
                         static_cast<int64_t>(classes_[of].offsets.size()), depth / kQuad,
                         offsets_of(of));
      }
    });
  }

  // Sets the scale of each column of the result; returns the inverses by output or input channel.
  std::vector<float> scale_columns(int64_t row) {
    std::vector<uint32_t> largest(static_cast<size_t>(columns_));
    if (is_forward_) {
      for (int64_t co = 0; co < p_.co; ++co) {
        largest[static_cast<size_t>(co)] = largest_of(args_.w + co * row, row);
      }
    } else {
      raise_to_columns(args_.w, p_.co * p_.kh * p_.kw, p_.ci, largest.data());
    }
    auto scales = scales_of(std::move(largest), args_.scales);
    std::ranges::copy(scales.value, column_scales_.begin());
    return std::move(scales.inverse);
  }

  // Columns are output channels: a quad is four neighbours of a row.
  void pack_outputs(const int8_t* from, int64_t row, const Panel& panel, int8_t* to) const {
    std::fill_n(to, map_.depth() * panel.width(), int8_t{0});
    for (int64_t column = 0; column < panel.columns; ++column) {
      const int8_t* own = from + (panel.first + column) * row;
      for (int64_t c = 0; c < p_.ci; c += kQuad) {
        std::memcpy(to + (c * panel.width() + column * kQuad), own + c,
                    static_cast<size_t>(std::min(kQuad, p_.ci - c)));
      }
    }
  }

  // Columns are input channels: a quad is of four rows.
  void pack_inputs(const int8_t* from, int64_t row, const Panel& panel, int8_t* to) const {
    for (int64_t co = 0; co < p_.co; co += kQuad) {
      for (int64_t c = 0; c < panel.width(); c += kLanes) {
        const auto load_row = [&](int64_t i) APPROX_INLINE {
          const int64_t columns = co + i < p_.co ? panel.columns - c : 0;
          return _mm_maskz_loadu_epi8(first_lanes(columns),
                                      from + (co + i) * row + panel.first + c);
        };
        const __m128i a = load_row(0), b = load_row(1), d = load_row(2), e = load_row(3);
        const __m128i low = _mm_unpacklo_epi8(a, b), high = _mm_unpackhi_epi8(a, b);
        const __m128i low2 = _mm_unpacklo_epi8(d, e), high2 = _mm_unpackhi_epi8(d, e);
        auto* out = reinterpret_cast<__m128i*>(to + co * panel.width() + c * kQuad);
        _mm_store_si128(out, _mm_unpacklo_epi16(low, low2));
        _mm_store_si128(out + 1, _mm_unpackhi_epi16(low, low2));
        _mm_store_si128(out + 2, _mm_unpacklo_epi16(high, high2));
        _mm_store_si128(out + 3, _mm_unpackhi_epi16(high, high2));
      }
    }
  }

  int32_t* offsets_of(size_t of) {
    return offsets_.data() + of * static_cast<size_t>(round_up(columns_, kLanes));
  }

  const int8_t* panel_of(const Panel& panel, const PixelClass& of) const {
    const int64_t all = static_cast<int64_t>(taps_.size()) * map_.depth();
    return packed_.get() + panel.first * all + of.first_tap * map_.depth() * panel.width();
  }

  GroupMemory new_memory() const {
    const int64_t bytes = images_ * map_.bytes();
    GroupMemory memory{.map = allocate<uint8_t>(bytes), .sums = allocate<int32_t>(kTileSums)};
    std::fill_n(memory.map.get(), bytes + 64, uint8_t{kOffset});
    memory.scales.resize(static_cast<size_t>(images_));
    return memory;
  }

  // Writes image n in integers as the image `index` of the group.
  void write_image(int64_t n, int64_t index, GroupMemory& memory) const {
    const int64_t row = map_.width * map_.channels, image = map_.height * row;
    const Real* from = from_ + n * image;
    const Scale scale = args_.scales == Scales::kTensor
                            ? whole_scale_
                            : Scale::of(std::bit_cast<float>(largest_of(from, image)));
    memory.scales[static_cast<size_t>(index)] = scale.value;
    for (int64_t i = 0; i < map_.height; ++i, from += row) {
      uint8_t* to =
          memory.map.get() + index * map_.bytes() + map_.at(map_.pad_top + i, map_.pad_left);
      const float* draws = nullptr;
      if (by_chance_) draws = draws_of(args_.rng, n * image + i * row, row, memory.draws);
      write_row(from, draws, scale, to);
    }
  }

  void write_row(const Real* from, const float* draws, const Scale& scale, uint8_t* to) const {
    const __m512 inverse = _mm512_set1_ps(scale.inverse);
    const __m512i offset = _mm512_set1_epi32(kOffset);
    for (int64_t j = 0; j < map_.width; ++j, from += map_.channels, to += map_.depth()) {
      for (int64_t c = 0; c < map_.channels; c += kLanes) {
        const __mmask16 lanes = first_lanes(map_.channels - c);
        const __m512 v = load(from + c, lanes);
        const __m512i whole =
            draws == nullptr
                ? to_nearest(v, inverse)
                : by_chance(v, inverse,
                            _mm512_maskz_loadu_ps(lanes, draws + j * map_.channels + c));
        _mm_mask_storeu_epi8(to + c, lanes, _mm512_cvtepi32_epi8(_mm512_add_epi32(whole, offset)));
      }
    }
  }

  // The pixels of a class in images [first, first + count), and one panel of columns.
  void multiply_class(int64_t first, int64_t count, size_t panel_index, const PixelClass& of,
                      GroupMemory& memory) {
    const Panel& panel = panels_[panel_index];
    const auto of_image = static_cast<int64_t>(of.bases.size()), all = count * of_image;
    const auto which = static_cast<size_t>(&of - classes_.data());
    const int8_t* weights = panel_of(panel, of);
    Rows rows{{}, of.offsets.data(), static_cast<int64_t>(of.offsets.size()), map_.depth() / kQuad};
    for (int64_t tile = 0; tile < all; tile += kRows) {
      const int64_t own = std::min(kRows, all - tile);
      for (int64_t r = 0; r < kRows; ++r) {
        const int64_t pixel = tile + std::min(r, own - 1), image = pixel / of_image;
        rows.row[r] = memory.map.get() + image * map_.bytes() +
                      of.bases[static_cast<size_t>(pixel - image * of_image)];
      }
      kMultiply[panel.vectors - 1](rows, weights, memory.sums.get());
      for (int64_t r = 0; r < own; ++r) {
        const int64_t image = (tile + r) / of_image;
        const auto pixel = of.pixels[static_cast<size_t>(tile + r - image * of_image)];
        // A pixel that no tap reaches has no factor that could be no number.
        const float scale = of.offsets.empty() ? 0 : memory.scales[static_cast<size_t>(image)];
        write_pixel(memory.sums.get() + r * panel.width(), offsets_of(which), scale, panel,
                    args_.out + ((first + image) * pixels_ + pixel) * columns_);
      }
    }
  }

  void write_pixel(const int32_t* sums, const int32_t* offsets, float scale, const Panel& panel,
                   Real* out) const {
    for (int64_t c = 0; c < panel.columns; c += kLanes) {
      const int64_t at = panel.first + c;
      const __m512i sum =
          _mm512_sub_epi32(_mm512_load_si512(sums + c), _mm512_loadu_si512(offsets + at));
      const __m512 by =
          _mm512_mul_ps(_mm512_set1_ps(scale), _mm512_loadu_ps(column_scales_.data() + at));
      store(_mm512_mul_ps(_mm512_cvtepi32_ps(sum), by), first_lanes(panel.columns - c), out + at);
    }
  }

  const Problem& p_;
  const Arguments<Quantized, Real>& args_;
  const bool is_forward_;
  const Real* from_;
  const bool by_chance_;
  const int64_t columns_, pixels_;  // of the result
  const std::vector<Panel> panels_;
  IntegerMap map_;
  std::vector<int64_t> taps_;  // in the order of packing
  std::vector<PixelClass> classes_;
  int64_t images_ = 1;  // together
  Scale whole_scale_;
  std::vector<float> column_scales_;
  AlignedNumbers<int8_t> packed_;
  std::vector<int32_t> offsets_;
};

void integer_maps(const Arguments<Quantized, float>& args, const Team& team) {
  MapProduct<float>(args).compute(team);
}

void integer_maps_bf16(const Arguments<Quantized, BFloat16>& args, const Team& team) {
  MapProduct<BFloat16>(args).compute(team);
}

}  // namespace
HWY_POP_ATTRIBUTES

namespace {

// Sums of 32 bits hold so many products.
bool integer_maps_fit(const Problem& p) {
  constexpr int64_t kMostProducts = 66'000;
  const int64_t channels = p.product == Product::kForward ? p.ci : p.co;
  return has_products() && p.one_group() &&
         p.kh * p.kw * round_up(channels, kQuad) <= kMostProducts && p.n * p.ho * p.wo > 0 &&
         p.ci > 0 && p.co > 0;
}

REGISTER_KERNEL(Quantized, "vnni", integer_maps)
    .computes({Product::kForward, Product::kDataGradient})
    .on({Hardware::kCpu})
    .reads({ElementType::kFloat})
    .where(integer_maps_fit)
    .rank(0);

REGISTER_KERNEL(Quantized, "vnni_bf16", integer_maps_bf16)
    .computes({Product::kForward, Product::kDataGradient})
    .on({Hardware::kCpu})
    .where(integer_maps_fit)
    .rank(0);

}  // namespace
}  // namespace approx::vnni
#endif
