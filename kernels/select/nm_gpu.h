// N:M pruning on a GPU.
#pragma once

#include <cfloat>
#include <cmath>

#include "kernels/gpu/lists.h"
#include "kernels/gpu/planes.h"
#include "kernels/gpu/sums.h"
#include "kernels/select/pruned.h"

namespace approx {

// Keys as integers in the order of magnitudes; NaNs are equal and come before all others.
APPROX_GPU uint32_t nm_key(float value) {
  const uint32_t bits = bits_of(value) & 0x7FFFFFFFu;
  return bits > 0x7F800001u ? 0x7F800001u : bits;
}

// Sums of a thread for the planes of its channels: magnitudes before and after.
template <int kWidth>
using PlaneSums = TwoSums<float, kWidth>;

// Four neighbouring channels of a pixel.
struct FourKept {
  Floats<4> left;  // dropped entries are zero
  bool stays[4];
};

// Chooses in whole groups of kM; the first of the four channels is element `first` of dY. kPlain:
// by magnitude, and without rescaling of groups.
template <int kM, bool kPlain, typename Number>
APPROX_GPU FourKept kept_of_four(const NmArgs<Number>& a, const Floats<4>& values, int64_t first) {
  uint32_t key[4];
  if (!kPlain && a.random) {
    const auto words = a.rng.block(static_cast<uint32_t>(first / 4));
    for (int i = 0; i < 4; ++i) key[i] = bits_of(Rng::uniform(words[static_cast<size_t>(i)]));
  } else {
    for (int i = 0; i < 4; ++i) key[i] = nm_key(values.v[i]);
  }
  // Each of the four has a byte that counts how many of its group come before it. At first these
  // are all lower channels; then each pair is ordered by its larger key.
  uint32_t before = kM == 4 ? 0x03020100 : 0x01000100;
  for (int i = 0; i < 4; ++i) {
    for (int j = i + 1; j % kM != 0; ++j) {
      if (key[j] > key[i]) before += (1u << 8 * i) - (1u << 8 * j);
    }
  }
  // The highest bit of each byte: whether n or more come before.
  const uint32_t enough = before + 0x01010101u * (0x80 - static_cast<uint32_t>(a.n));
  FourKept kept;
  for (int i = 0; i < 4; ++i) {
    kept.stays[i] = (enough & 0x80u << 8 * i) == 0;
    kept.left.v[i] = kept.stays[i] ? values.v[i] : 0.0f;
  }
  for (int group = 0; !kPlain && a.rescale_group && group < 4; group += kM) {
    float whole = 0, rest = 0;
    for (int i = group; i < group + kM; ++i) {
      whole += std::fabs(values.v[i]);
      rest += std::fabs(kept.left.v[i]);
    }
    if (whole > FLT_MAX) {
      whole = rest = 0;
      for (int i = group; i < group + kM; ++i) {
        whole += std::fabs(values.v[i]) * kGroupScale;
        rest += std::fabs(kept.left.v[i]) * kGroupScale;
      }
    }
    const float factor = rescaling_factor(whole, rest);
    for (int i = group; i < group + kM; ++i) kept.left.v[i] *= factor;
  }
  return kept;
}

// The result for kWidth neighbouring channels.
template <int kWidth>
struct Kept {
  FourKept four[kWidth / 4];

  APPROX_GPU float& left(int i) { return four[i / 4].left.v[i % 4]; }
};

template <int kM, bool kPlain, int kWidth, typename Number>
APPROX_GPU Kept<kWidth> kept_of(const NmArgs<Number>& a, const Floats<kWidth>& values,
                                int64_t first) {
  Kept<kWidth> kept;
  APPROX_UNROLL(2)
  for (int four = 0; four < kWidth / 4; ++four) {
    Floats<4> own;
    for (int i = 0; i < 4; ++i) own.v[i] = values.v[4 * four + i];
    kept.four[four] = kept_of_four<kM, kPlain>(a, own, first + 4 * four);
  }
  return kept;
}

// A grid of blocks with whole planes. BlockSums needs shared memory for the sums of every warp, and
// for factors.
template <int kWidth>
constexpr Grid grid_of_planes(const PlaneBlocks& blocks) {
  Grid grid = blocks.grid(0);
  const auto channels = static_cast<size_t>(blocks.columns() * kWidth);
  const auto warps = static_cast<size_t>(grid.threads / kWarp);
  grid.shared = channels * (2 * warps * sizeof(double) + sizeof(float));
  return grid;
}

// Number of rows of a thread, and then of lanes, that are added up in float; the sums of these are
// added in double.
constexpr int kRowsOfSums = 8;

// The sums of a block's planes, and their rescaling factors. Lanes join their sums by shuffles,
// warps in shared memory, where the factors take the last part. The first part may be reused
// afterwards.
template <int kWidth>
class BlockSums {
 public:
  template <typename Thread>
  APPROX_GPU BlockSums(Thread& thread, const PlaneThread& at)
      : channels_(at.across * kWidth),
        warps_(thread.threads() / kWarp),
        all_(thread.template shared<double>()),
        factors_(reinterpret_cast<float*>(all_ + 2 * warps_ * channels_)) {}

  // All threads add their sums of a few rows. is_first: nothing was added before.
  template <typename Thread>
  APPROX_GPU void add(Thread& thread, const PlaneThread& at, PlaneSums<kWidth>& own,
                      bool is_first) const {
    for (int lanes = kWarp / 2; lanes >= at.across; lanes /= 2) {
      for (int i = 0; i < kWidth; ++i) {
        own.first[i] += thread.shuffle_down(own.first[i], lanes);
        own.second[i] += thread.shuffle_down(own.second[i], lanes);
      }
    }
    if (thread.index() % kWarp < at.across) {
      double* sums = all_ + 2 * (thread.index() / kWarp) * channels_ + at.column * kWidth;
      for (int i = 0; i < kWidth; ++i) {
        sums[i] = (is_first ? 0 : sums[i]) + double{own.first[i]};
        sums[channels_ + i] = (is_first ? 0 : sums[channels_ + i]) + double{own.second[i]};
      }
    }
    own.clear();
  }

  // The factors of a thread's channels. For a channel of the block whose sums exceed the range of
  // float, again(channel, whole, rest) is called to replace them.
  template <typename Thread, typename Again>
  APPROX_GPU Floats<kWidth> factors(Thread& thread, const PlaneThread& at, Again again) const {
    thread.barrier();
    for (int channel = thread.index(); channel < channels_; channel += thread.threads()) {
      double whole = 0, rest = 0;
      for (int warp = 0; warp < warps_; ++warp) {
        whole += all_[2 * warp * channels_ + channel];
        rest += all_[(2 * warp + 1) * channels_ + channel];
      }
      if (!(whole <= DBL_MAX)) again(channel, whole, rest);
      factors_[channel] = rescaling_factor_of_sums(whole, rest);
    }
    thread.barrier();
    Floats<kWidth> mine;
    for (int i = 0; i < kWidth; ++i) mine.v[i] = factors_[at.column * kWidth + i];
    return mine;
  }

 private:
  int channels_, warps_;
  double* all_;     // [warps,2,channels]
  float* factors_;  // [channels]
};

// If is_one, calls body(row, load(row)) for the rows of the block that belong to this thread, as
// for_loaded does. All threads together call close(is_first) after each kRowsOfSums rows.
template <typename Thread, typename Load, typename Body, typename Close>
APPROX_GPU void for_rows_of_sums(const Thread& thread, const PlaneBlocks& blocks,
                                 const PlaneThread& at, int64_t rows, bool is_one, Load load,
                                 Body body, Close close) {
  const int64_t first = thread.block_x() * blocks.plane;
  const int64_t end = first + blocks.plane < rows ? first + blocks.plane : rows;
  for (int64_t some = first; some < end; some += kRowsOfSums * at.parts) {
    const int64_t last = some + kRowsOfSums * at.parts < end ? some + kRowsOfSums * at.parts : end;
    for_loaded(some + at.part, is_one ? last : some, at.parts, load, body);
    close(some == first);
  }
}

// How a grid goes over dY where groups lie within four channels. Without rescaling of planes, dY is
// one list of vectors of kWidth. With it, a block has all pixels of some channels and reads them
// twice: first for sums, then to choose again. The second read is partly from caches, and costs
// less than writing the choice and reading it again. Groups are not rescaled then. kM divides four,
// and kVector the channels. kPlain as above.
template <typename Numbers, int kM, int kVector, int kMovedAtOnce, bool kPlanes, bool kPlain>
struct FoursOfDY {
  using Number = Numbers;
  static constexpr int kWidth = kVector, kMoved = kMovedAtOnce;
  static constexpr int kMostThreads = kPlanes ? 512 : 256;
  NmArgs<Number> args;
  int64_t images = 1;
  int64_t most_blocks = 1;  // for a list

  constexpr PlaneBlocks blocks() const {
    return {.images = images,
            .plane = args.pixels / images,
            .vectors = args.channels / kWidth,
            .most_threads = kMostThreads,
            .most_columns = 8};  // of sixteen bytes: more blocks, with whole cache lines
  }
  constexpr Grid grid() const {
    if constexpr (kPlanes) return grid_of_planes<kWidth>(blocks());
    return grid_of_list(args.pixels * args.channels / kWidth, most_blocks, kMostThreads,
                        kMostThreads / kWarp * sizeof(int32_t));
  }

  // Calls write(at, kept) with the kept entries of every vector of this thread. The first of them
  // is element `at` of dY.
  template <typename Thread, typename Write>
  APPROX_GPU void for_kept(Thread& thread, Write write) const {
    if constexpr (kPlanes) {
      for_kept_of_planes(thread, write);
    } else {
      for_own_vectors<kWidth, kMoved>(thread, args.dy, args.pixels * args.channels,
                                      [&](int64_t at, const Floats<kWidth>& values) {
                                        write(at, kept_of<kM, kPlain>(args, values, at));
                                      });
    }
  }

 private:
  template <typename Thread, typename Write>
  APPROX_GPU void for_kept_of_planes(Thread& thread, Write write) const {
    const PlaneThread at(blocks(), thread);
    const int64_t channel = at.vector * kWidth;
    const int64_t rows = channel < args.channels ? args.pixels : 0;
    const auto load = [&](int64_t row) {
      return load_by<kWidth, kMoved>(args.dy + row * args.channels + channel);
    };
    const BlockSums<kWidth> planes(thread, at);
    PlaneSums<kWidth> sums;
    sums.clear();
    for_rows_of_sums(
        thread, blocks(), at, args.pixels, rows > 0, load,
        [&](int64_t row, const Neighbours<Number, kWidth>& all) {
          const Floats<kWidth> values = all.floats();
          auto kept = kept_of<kM, kPlain>(args, values, row * args.channels + channel);
          for (int i = 0; i < kWidth; ++i) {
            sums.first[i] += std::fabs(values.v[i]);
            sums.second[i] += std::fabs(kept.left(i));
          }
        },
        [&](bool is_first) { planes.add(thread, at, sums, is_first); });
    const Floats<kWidth> factors =
        planes.factors(thread, at, [&](int of_block, double& whole, double& rest) {
          add_in_double(thread, of_block, whole, rest);
        });
    for_own_rows(thread, blocks(), at, rows, load,
                 [&](int64_t row, const Neighbours<Number, kWidth>& all) {
                   const Floats<kWidth> values = all.floats();
                   const int64_t first = row * args.channels + channel;
                   auto kept = kept_of<kM, kPlain>(args, values, first);
                   for (int i = 0; i < kWidth; ++i) kept.left(i) *= factors.v[i];
                   write(first, kept);
                 });
  }

  // The sums of a channel of the block in double, pixel after pixel.
  template <typename Thread>
  APPROX_GPU void add_in_double(const Thread& thread, int of_block, double& whole,
                                double& rest) const {
    const int64_t channel = thread.block_y() * blocks().columns() * kWidth + of_block;
    const int64_t plane = blocks().plane, first_row = thread.block_x() * plane;
    const int own = of_block % 4;
    whole = rest = 0;
    for (int64_t row = first_row; row < first_row + plane; ++row) {
      const int64_t first = row * args.channels + channel - own;
      const Floats<4> values = load_by<4, 1>(args.dy + first).floats();
      const FourKept kept = kept_of_four<kM, kPlain>(args, values, first);
      for (int i = 0; i < 4; ++i) {
        if (i != own) continue;
        whole += double{std::fabs(values.v[i])};
        rest += double{std::fabs(kept.left.v[i])};
      }
    }
  }
};

// Calls run(fours) with the object that goes over dY.
template <int kM, int kWidth, int kMoved, typename Number, typename Run>
void with_fours(const NmArgs<Number>& a, int64_t images, bool rescale_plane, int64_t most_blocks,
                Run run) {
  const auto go = [&](auto fours) {
    fours.args = a, fours.images = images, fours.most_blocks = most_blocks;
    run(fours);
  };
  const bool plain = !a.random && !a.rescale_group;
  if (rescale_plane && plain) return go(FoursOfDY<Number, kM, kWidth, kMoved, true, true>{});
  if (rescale_plane) return go(FoursOfDY<Number, kM, kWidth, kMoved, true, false>{});
  if (plain) return go(FoursOfDY<Number, kM, kWidth, kMoved, false, true>{});
  go(FoursOfDY<Number, kM, kWidth, kMoved, false, false>{});
}

// Prunes groups of two or four.
template <typename Fours>
struct NmPruneFours {
  static constexpr int kMostThreads = Fours::kMostThreads, kWidth = Fours::kWidth;
  static constexpr int kLeastBlocks = kMostThreads == 512 ? 2 : 1;
  Fours fours;
  int64_t* kept = nullptr;

  Grid grid() const { return fours.grid(); }

  template <typename Thread>
  APPROX_GPU void operator()(Thread& thread) const {
    int32_t own = 0;
    fours.for_kept(thread, [&](int64_t at, Kept<kWidth> chosen) {
      Floats<kWidth> left;
      for (int i = 0; i < kWidth; ++i) {
        left.v[i] = chosen.left(i);
        own += left.v[i] != 0 ? 1 : 0;
      }
      store_by<kWidth, Fours::kMoved>(fours.args.pruned + at, left);
    });
    add_counts(thread, own, kept);
  }
};

// Prunes groups of eight, sixteen or all thirty-two lanes of a warp. Each lane has one channel of
// its warp's pixels, and reads the others of its group by shuffles. If planes are rescaled, a block
// has all of their pixels and reads again the values that it wrote. m divides the channels.
template <typename Number>
struct NmPruneLanes {
  static constexpr int kMostThreads = 256;
  NmOnGpu<Number> on;

  // A warp goes along the channels, however few there are.
  constexpr PlaneBlocks blocks() const {
    PlaneBlocks blocks = blocks_of_rows(on.args.pixels, on.args.channels);
    if (on.rescale_plane) blocks.images = on.images, blocks.plane = on.args.pixels / on.images;
    blocks.least_columns = kWarp;
    return blocks;
  }
  Grid grid() const { return grid_of_planes<1>(blocks()); }

  template <typename Thread>
  APPROX_GPU void operator()(Thread& thread) const {
    const NmArgs<Number>& a = on.args;
    const PlaneThread own(blocks(), thread);
    const int64_t channel = own.vector;
    const bool is_one = channel < a.channels;
    PlaneSums<1> sums;
    sums.clear();
    int32_t kept = 0;
    const auto load = [&](const Number* from, int64_t row) {
      return is_one ? static_cast<float>(from[row * a.channels + channel]) : 0.0f;
    };
    const BlockSums<1> planes(thread, own);
    for_rows_of_sums(
        thread, blocks(), own, a.pixels, true, [&](int64_t row) { return load(a.dy, row); },
        [&](int64_t row, float value) {
          const int64_t at = row * a.channels + channel;
          const float left = pruned(thread, own.column, value, at);
          sums.first[0] += std::fabs(value);
          sums.second[0] += std::fabs(left);
          kept += left != 0 ? 1 : 0;
          if (is_one) a.pruned[at] = Number(left);
        },
        [&](bool is_first) {
          if (on.rescale_plane) planes.add(thread, own, sums, is_first);
        });
    if (on.rescale_plane) {
      const auto again = [&](int of_block, double& whole, double& rest) {
        const int64_t plane = blocks().plane, first = thread.block_x() * plane * a.channels;
        whole = rest = 0;
        for (int64_t row = 0; row < plane; ++row) {
          const int64_t at = first + row * a.channels + thread.block_y() * own.across + of_block;
          whole += double{std::fabs(static_cast<float>(a.dy[at]))};
          rest += double{std::fabs(static_cast<float>(a.pruned[at]))};
        }
      };
      const float factor = planes.factors(thread, own, again).v[0];
      for_own_rows(
          thread, blocks(), own, is_one ? a.pixels : 0,
          [&](int64_t row) { return load(a.pruned, row); },
          [&](int64_t row, float left) {
            a.pruned[row * a.channels + channel] = Number(left * factor);
          });
    }
    add_counts(thread, kept, on.kept);
  }

 private:
  // All lanes of the warp must call it.
  template <typename Thread>
  APPROX_GPU float pruned(Thread& thread, int lane, float value, int64_t at) const {
    const NmArgs<Number>& a = on.args;
    const int m = static_cast<int>(a.m), first = lane / m * m;
    uint32_t key = nm_key(value);
    if (a.random) {
      key = bits_of(
          Rng::uniform(a.rng.block(static_cast<uint32_t>(at / 4))[static_cast<size_t>(at % 4)]));
    }
    int before = 0;
    float whole = 0, rest = 0;
    for (int j = first; j < first + m; ++j) {
      const uint32_t other = thread.shuffle(key, j);
      before += other > key || (other == key && j < lane) ? 1 : 0;
    }
    float left = before < a.n ? value : 0.0f;
    if (a.rescale_group) {
      for (int j = first; j < first + m; ++j) {
        whole += std::fabs(thread.shuffle(value, j));
        rest += std::fabs(thread.shuffle(left, j));
      }
      // (All lanes take part, since all of them must meet the shuffles.)
      if (thread.ballot(whole > FLT_MAX) != 0) {
        float scaled_whole = 0, scaled_rest = 0;
        for (int j = first; j < first + m; ++j) {
          scaled_whole += std::fabs(thread.shuffle(value, j)) * kGroupScale;
          scaled_rest += std::fabs(thread.shuffle(left, j)) * kGroupScale;
        }
        if (whole > FLT_MAX) whole = scaled_whole, rest = scaled_rest;
      }
      left *= rescaling_factor(whole, rest);
    }
    return left;
  }
};

// Calls run(kernel) with the suitable kernel. It uses vectors of sixteen bytes if dY consists of
// them, otherwise fours, number after number.
template <int kM, typename Number, typename Run>
void with_nm_fours(const NmOnGpu<Number>& on, int64_t most_blocks, Run run) {
  constexpr int kWidth = kMostMoved<Number>;
  const NmArgs<Number>& a = on.args;
  const auto prune = [&](const auto& fours) { run(NmPruneFours{fours, on.kept}); };
  const int64_t together = on.rescale_plane ? a.channels : a.pixels * a.channels;
  if (together % kWidth == 0 && lies_by(kWidth, a.dy) && lies_by(kWidth, a.pruned)) {
    return with_fours<kM, kWidth, kWidth>(a, on.images, on.rescale_plane, most_blocks, prune);
  }
  with_fours<kM, 4, 1>(a, on.images, on.rescale_plane, most_blocks, prune);
}
template <typename Number, typename Run>
void with_nm_kernel(const NmOnGpu<Number>& on, Run run, int64_t most_blocks = kMostListBlocks) {
  if (on.args.m == 2) return with_nm_fours<2>(on, most_blocks, run);
  if (on.args.m == 4) return with_nm_fours<4>(on, most_blocks, run);
  run(NmPruneLanes<Number>{on});
}

}  // namespace approx
