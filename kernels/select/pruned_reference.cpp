// The definitions in plain loops.
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "kernels/float16.h"
#include "kernels/select/pruned.h"

namespace approx {
namespace {

// Word i of a stream, read in order: a block of four words is computed once.
class Draws {
 public:
  explicit Draws(const Rng& rng) : rng_(rng) {}

  float operator()(int64_t i) {
    if (i / 4 != block_) {
      block_ = i / 4;
      words_ = rng_.block(static_cast<uint32_t>(block_));
    }
    return Rng::uniform(words_[static_cast<size_t>(i % 4)]);
  }

 private:
  const Rng& rng_;
  int64_t block_ = -1;
  std::array<uint32_t, 4> words_{};
};

}  // namespace

template <typename Number>
int64_t stochastic_reference(const StochasticArgs<Number>& a, int64_t begin, int64_t end) {
  Draws draw(a.rng);
  int64_t kept = 0;
  for (int64_t i = begin; i < end; ++i) {
    const auto g = static_cast<float>(a.dy[i]);
    const float size = std::fabs(g);
    Number stays = a.dy[i];
    if (size < a.tau) stays = Number(size > draw(i) * a.tau ? std::copysign(a.tau, g) : 0.0f);
    a.pruned[i] = stays;
    kept += static_cast<float>(stays) != 0;
  }
  return kept;
}

template <typename Number>
int64_t nm_reference(const NmArgs<Number>& a, int64_t begin, int64_t end, int64_t first_draw) {
  constexpr int64_t kMost = 32;
  Draws draw(a.rng);
  int64_t kept = 0;
  for (int64_t pixel = begin; pixel < end; ++pixel) {
    for (int64_t first = 0; first < a.channels; first += a.m) {
      const int64_t at = pixel * a.channels + first;
      const int64_t size = std::min(a.m, a.channels - first);
      std::array<float, kMost> key;
      for (int64_t i = 0; i < size; ++i) {
        key[static_cast<size_t>(i)] =
            a.random ? draw(first_draw + at + i) : std::fabs(static_cast<float>(a.dy[at + i]));
      }
      float whole = 0, left = 0;
      for (int64_t i = 0; i < size; ++i) {
        const float own = key[static_cast<size_t>(i)];
        // How many go before it. Written so that a NaN goes before everything: it must not vanish.
        int64_t before = 0;
        for (int64_t j = 0; j < size; ++j) {
          const float other = key[static_cast<size_t>(j)];
          const bool larger = other > own || (std::isnan(other) && !std::isnan(own));
          const bool equal = other == own || (std::isnan(other) && std::isnan(own));
          before += larger || (equal && j < i);
        }
        const Number value = before < a.n ? a.dy[at + i] : Number(0.0f);
        whole += std::fabs(static_cast<float>(a.dy[at + i]));
        left += std::fabs(static_cast<float>(value));
        a.pruned[at + i] = value;
      }
      if (whole > std::numeric_limits<float>::max()) {
        whole = left = 0;
        for (int64_t i = 0; i < size; ++i) {
          whole += std::fabs(static_cast<float>(a.dy[at + i])) * kGroupScale;
          left += std::fabs(static_cast<float>(a.pruned[at + i])) * kGroupScale;
        }
      }
      for (int64_t i = 0; i < size; ++i) {
        const auto value = static_cast<float>(a.pruned[at + i]);
        if (a.rescale_group) a.pruned[at + i] = Number(value * rescaling_factor(whole, left));
        kept += static_cast<float>(a.pruned[at + i]) != 0;
      }
    }
  }
  return kept;
}

#define APPROX_PRUNED_OF(Number)                                                          \
  template int64_t stochastic_reference(const StochasticArgs<Number>&, int64_t, int64_t); \
  template int64_t nm_reference(const NmArgs<Number>&, int64_t, int64_t, int64_t)

APPROX_PRUNED_OF(float);
APPROX_PRUNED_OF(BFloat16);
APPROX_PRUNED_OF(Float16);

#undef APPROX_PRUNED_OF

}  // namespace approx
