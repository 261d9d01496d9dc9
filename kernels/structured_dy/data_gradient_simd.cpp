// The data gradient of n of every m neighbouring channels of dY, for every instruction set that
// Highway knows: chosen, rescaled and listed image by image while that is in the cache. Each pixel
// has as many entries as every other, so no branch that ends a list is a surprise.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/structured_dy/data_gradient_simd.cpp"
#include <hwy/foreach_target.h>
// clang-format off: must follow foreach_target.h
#include <hwy/highway.h>

#include "kernels/entry_rows-inl.h"
#include "kernels/long_sums-inl.h"
#include "kernels/philox-inl.h"
#include "kernels/pruned_dy/entries-inl.h"
#include "kernels/select/groups-inl.h"
// clang-format on

#include <algorithm>
#include <cmath>
#include <vector>

#include "kernels/entry_rows.h"
#include "kernels/simd_variant.h"
#include "kernels/structured_dy/structured_dy.h"

HWY_BEFORE_NAMESPACE();
namespace approx {
namespace HWY_NAMESPACE {

// Those that are chosen, zeros among them too: every list has its place beforehand.
class ChosenEntries {
 public:
  explicit ChosenEntries(const Arguments<StructuredDY, float>& args)
      : p_(args.problem),
        dy_(args.dy),
        choice_(args.choice),
        groups_(choice_.m),
        draws_(args.rng) {}

  void list(int64_t first_pixel, PixelEntries& to) const {
    for (int64_t b = 0; b < to.blocks(); ++b) {
      const auto of_pixel = static_cast<int32_t>(choice_.kept(to.channels_of(b)));
      int32_t* begin = to.begin(b);
      for (int64_t pixel = 0; pixel <= to.pixels(); ++pixel) {
        begin[pixel] = static_cast<int32_t>(pixel) * of_pixel;
      }
    }
    const int64_t plane = p_.ho * p_.wo;
    Choice chosen(plane * p_.co, choice_.rescaling == Rescaling::kPlane ? p_.co : 0);
    for (int64_t pixel = 0; pixel < to.pixels(); pixel += plane) {
      const int64_t element = (first_pixel + pixel) * p_.co;
      choice_.m == 2 ? choose<2>(element, chosen) : choose<4>(element, chosen);
      write(element, chosen, pixel, pixel + plane, to);
    }
  }

 private:
  using Stream = PhiloxStream<4>;

  // What is chosen of an image.
  struct Choice {
    Choice(int64_t elements, int64_t channels)
        // A bit for each element; vectors of bits are read and written in eight bytes.
        : stays(static_cast<size_t>(elements / 4) + 8),
          all(static_cast<size_t>(channels)),
          left(all.size()),
          whole_all(all.size()),
          whole_left(all.size()) {}
    std::vector<uint8_t> stays;
    // Sums of magnitudes by channel, of some pixels and of all of them; [0] where nobody asks.
    std::vector<float> all, left;
    std::vector<double> whole_all, whole_left;
  };

  static int64_t lanes() { return static_cast<int64_t>(hn::Lanes(Floats())); }

  // Of the image that begins at an element of dY. Where sums are asked, `all` has the factors of
  // the channels afterwards.
  template <int64_t kM>
  void choose(int64_t element, Choice& chosen) const {
    const Floats d;
    const bool sums_asked = !chosen.all.empty();
    std::fill(chosen.whole_all.begin(), chosen.whole_all.end(), 0.0);
    std::fill(chosen.whole_left.begin(), chosen.whole_left.end(), 0.0);
    float* all = chosen.all.data();
    float* left = chosen.left.data();
    uint8_t* bits = chosen.stays.data();
    const int64_t size = p_.ho * p_.wo * p_.co, step = lanes(), n = choice_.n;
    const GroupsOfLanes groups = groups_;
    hn::Vec<hn::ScalableTag<uint32_t>> words[Stream::kVectors];
    int64_t word = 0, channel = 0;
    for (int64_t some = 0; some < size; some += kShortSum * p_.co) {
      std::fill(chosen.all.begin(), chosen.all.end(), 0.0f);
      std::fill(chosen.left.begin(), chosen.left.end(), 0.0f);
      for (int64_t i = some; i < std::min(some + kShortSum * p_.co, size); i += step) {
        const auto g = hn::LoadU(d, dy_ + element + i);
        auto key = g;
        if (choice_.random) {
          if (word == 0) draws_.words(static_cast<uint32_t>((element + i) / 4), words);
          key = uniform_of(words[word]);
          word = (word + 1) % Stream::kVectors;
        }
        const auto stays = groups.largest<kM>(ordered(key), n);
        bits += hn::StoreMaskBits(d, stays, bits);
        if (!sums_asked) continue;
        add(hn::Abs(g), all + channel);
        add(hn::IfThenElseZero(stays, hn::Abs(g)), left + channel);
        channel = channel + step == p_.co ? 0 : channel + step;
      }
      for (int64_t c = 0; sums_asked && c < p_.co; c += step) {
        add_in_double(d, hn::LoadU(d, all + c), chosen.whole_all.data() + c);
        add_in_double(d, hn::LoadU(d, left + c), chosen.whole_left.data() + c);
      }
    }
    for (size_t c = 0; c < chosen.all.size(); ++c) {
      if (!std::isfinite(chosen.whole_all[c])) sum_in_double(element, c, chosen);
      chosen.all[c] = rescaling_factor_of_sums(chosen.whole_all[c], chosen.whole_left[c]);
    }
  }

  // The sums of a channel whose short sums leave the range of float.
  void sum_in_double(int64_t element, size_t channel, Choice& chosen) const {
    const int64_t step = lanes(), bytes = (step + 7) / 8;
    double &all = chosen.whole_all[channel], &left = chosen.whole_left[channel];
    all = left = 0;
    for (auto i = static_cast<int64_t>(channel); i < p_.ho * p_.wo * p_.co; i += p_.co) {
      const double size = std::abs(double{dy_[element + i]});
      const int64_t lane = i % step;
      all += size;
      const int byte = chosen.stays[static_cast<size_t>(i / step * bytes + lane / 8)];
      if ((byte >> lane % 8 & 1) != 0) left += size;
    }
  }

  static HWY_INLINE void add(Vector v, float* sum) {
    const Floats d;
    hn::StoreU(hn::Add(hn::LoadU(d, sum), v), d, sum);
  }

  // The entries of that image, pixels [begin, end) of the list.
  void write(int64_t element, const Choice& chosen, int64_t begin, int64_t end,
             PixelEntries& to) const {
    const Floats d;
    const hn::RebindToSigned<Floats> di;
    const int64_t step = lanes(), of_vector = choice_.kept(step);
    const bool by_plane = choice_.rescaling == Rescaling::kPlane;
    const float* factor = chosen.all.data();
    const float* dy = dy_ + element;
    const uint8_t* bits = chosen.stays.data();
    const int64_t bytes = (step + 7) / 8;
    const auto next = hn::Set(di, to.step() * static_cast<int32_t>(step));
    const auto first = hn::Mul(hn::Iota(di, 0), hn::Set(di, to.step()));
    for (int64_t pixel = begin; pixel < end; ++pixel) {
      for (int64_t b = 0; b < to.blocks(); ++b) {
        const int64_t channels = to.channels_of(b), at = to.begin(b)[pixel];
        float* value = to.values(b) + at;
        int32_t* place = to.places(b) + at;
        auto places = first;
        for (int64_t c = 0; c < channels; c += step, dy += step, bits += bytes) {
          const auto stays = hn::LoadMaskBits(d, bits);
          auto kept = hn::LoadU(d, dy);
          if (by_plane) {
            kept = hn::Mul(kept, hn::LoadU(d, factor + to.first_channel(b) + c));
          } else if (choice_.rescaling == Rescaling::kGroup) {
            kept = groups_.rescaled(kept, hn::IfThenElseZero(stays, kept));
          }
          store_kept(d, kept, places, stays, value, place);
          value += of_vector;
          place += of_vector;
          places = hn::Add(places, next);
        }
      }
    }
  }

  const Problem& p_;
  const float* dy_;
  NmChoice choice_;
  GroupsOfLanes groups_;
  Stream draws_;
};

void structured_data_gradient(const Arguments<StructuredDY, float>& args, const Team& team) {
  const ChosenEntries entries(args);
  RowsDataGradient(args.problem, args.w, args.out, entries).compute(team);
}

}  // namespace HWY_NAMESPACE
}  // namespace approx
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace approx {
namespace {

// Groups that no vector of any instruction set cuts, in whole vectors of channels.
bool chosen_rows_fit(const Problem& p) {
  return entry_rows_fit(p) && p.co % 16 == 0 && (p.group == 2 || p.group == 4);
}

REGISTER_SIMD_KERNEL(StructuredDY, "rows", structured_data_gradient)
    .computes({Product::kDataGradient})
    .reads({ElementType::kFloat})
    .where(chosen_rows_fit)
    .rank(0);

}  // namespace
}  // namespace approx
#endif
