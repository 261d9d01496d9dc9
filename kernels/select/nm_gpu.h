// N:M pruning on a GPU.
#pragma once

#include <cmath>

#include "kernels/gpu/lists.h"
#include "kernels/gpu/planes.h"
#include "kernels/gpu/sums.h"
#include "kernels/select/pruned.h"

namespace approx {

// The order of keys as whole numbers: by magnitude, and a NaN before everything, all alike.
APPROX_GPU uint32_t nm_key(float value) {
  const uint32_t bits = bits_of(value) & 0x7FFFFFFFu;
  return bits > 0x7F800001u ? 0x7F800001u : bits;
}

// What a thread has of the planes of its channels: sums of magnitudes before and after.
template <int kWidth>
using PlaneSums = TwoSums<float, kWidth>;

// Four neighbouring channels of a pixel.
struct FourKept {
  Floats<4> left;  // what does not stay is zero
  bool stays[4];
};

// Whole groups of kM; the first of the four is element `first` of dY. kPlain: by magnitude, and
// groups are not rescaled.
template <int kM, bool kPlain, typename Number>
APPROX_GPU FourKept kept_of_four(const NmArgs<Number>& a, const Floats<4>& values, int64_t first) {
  uint32_t key[4];
  if (!kPlain && a.random) {
    const auto words = a.rng.block(static_cast<uint32_t>(first / 4));
    for (int i = 0; i < 4; ++i) key[i] = bits_of(Rng::uniform(words[static_cast<size_t>(i)]));
  } else {
    for (int i = 0; i < 4; ++i) key[i] = nm_key(values.v[i]);
  }
  // How many of its group go before each of the four, in a byte of its own: at first all lower
  // ones, then of any two the one of the larger key.
  uint32_t before = kM == 4 ? 0x03020100 : 0x01000100;
  for (int i = 0; i < 4; ++i) {
    for (int j = i + 1; j % kM != 0; ++j) {
      if (key[j] > key[i]) before += (1u << 8 * i) - (1u << 8 * j);
    }
  }
  // The highest bit of each byte: whether n or more do.
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
    const float factor = rescaling_factor(whole, rest);
    for (int i = group; i < group + kM; ++i) kept.left.v[i] *= factor;
  }
  return kept;
}

// Of kWidth neighbouring channels.
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

// The grid of blocks that have whole planes, with room for what plane_factors has in shared memory:
// the sums of every warp, and factors.
template <int kWidth>
constexpr Grid grid_of_planes(const PlaneBlocks& blocks) {
  Grid grid = blocks.grid(0);
  const int floats = (2 * grid.threads / kWarp + 1) * blocks.columns() * kWidth;
  grid.shared = static_cast<size_t>(floats) * sizeof(float);
  return grid;
}

// What rescales the planes of a thread's channels, from its own sums: lanes join theirs by
// shuffles, warps in shared memory, of which the factors take the last part. The first may be
// written to afterwards.
template <int kWidth, typename Thread>
APPROX_GPU Floats<kWidth> plane_factors(Thread& thread, const PlaneThread& at,
                                        PlaneSums<kWidth> own) {
  for (int lanes = kWarp / 2; lanes >= at.across; lanes /= 2) {
    for (int i = 0; i < kWidth; ++i) {
      own.first[i] += thread.shuffle_down(own.first[i], lanes);
      own.second[i] += thread.shuffle_down(own.second[i], lanes);
    }
  }
  const int channels = at.across * kWidth, warps = thread.threads() / kWarp;
  auto* all = thread.template shared<float>();  // [warps,2,channels]
  float* factors = all + 2 * warps * channels;
  if (thread.index() % kWarp < at.across) {
    float* sums = all + 2 * (thread.index() / kWarp) * channels + at.column * kWidth;
    for (int i = 0; i < kWidth; ++i) {
      sums[i] = own.first[i];
      sums[channels + i] = own.second[i];
    }
  }
  thread.barrier();
  for (int channel = thread.index(); channel < channels; channel += thread.threads()) {
    float whole = 0, rest = 0;
    for (int warp = 0; warp < warps; ++warp) {
      whole += all[2 * warp * channels + channel];
      rest += all[(2 * warp + 1) * channels + channel];
    }
    factors[channel] = rescaling_factor(whole, rest);
  }
  thread.barrier();
  Floats<kWidth> mine;
  for (int i = 0; i < kWidth; ++i) mine.v[i] = factors[at.column * kWidth + i];
  return mine;
}

// How a grid goes over dY where groups are within fours. They lie one after the other, so that all
// is a list of vectors of kWidth. Where planes are rescaled a block has all pixels of some channels
// and reads them twice: for sums first, then, from the caches where they are still there, to
// choose again, which is less than to write and to read again what it has chosen. Groups are not
// rescaled then. kM divides four, and kVector the channels. kPlain as above.
template <typename Numbers, int kM, int kVector, int kMovedAtOnce, bool kPlanes, bool kPlain>
struct FoursOfDY {
  using Number = Numbers;
  static constexpr int kWidth = kVector, kMoved = kMovedAtOnce;
  static constexpr int kMostThreads = kPlanes ? 512 : 256;
  NmArgs<Number> args;
  int64_t images = 1;
  int64_t most_blocks = 1;  // of a list

  constexpr PlaneBlocks blocks() const {
    return {.images = images,
            .plane = args.pixels / images,
            .vectors = args.channels / kWidth,
            .most_threads = kMostThreads,
            .most_columns = 8};  // of sixteen bytes: more blocks, and still whole lines
  }
  constexpr Grid grid() const {
    if constexpr (kPlanes) return grid_of_planes<kWidth>(blocks());
    return grid_of_list(args.pixels * args.channels / kWidth, most_blocks, kMostThreads,
                        kMostThreads / kWarp * sizeof(int32_t));
  }

  // Calls write(at, kept) with what stays of every vector that is this thread's, the first of which
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
    PlaneSums<kWidth> sums;
    sums.clear();
    for_own_rows(thread, blocks(), at, rows, load,
                 [&](int64_t row, const Neighbours<Number, kWidth>& all) {
                   const Floats<kWidth> values = all.floats();
                   auto kept = kept_of<kM, kPlain>(args, values, row * args.channels + channel);
                   for (int i = 0; i < kWidth; ++i) {
                     sums.first[i] += std::fabs(values.v[i]);
                     sums.second[i] += std::fabs(kept.left(i));
                   }
                 });
    const Floats<kWidth> factors = plane_factors(thread, at, sums);
    for_own_rows(thread, blocks(), at, rows, load,
                 [&](int64_t row, const Neighbours<Number, kWidth>& all) {
                   const Floats<kWidth> values = all.floats();
                   const int64_t first = row * args.channels + channel;
                   auto kept = kept_of<kM, kPlain>(args, values, first);
                   for (int i = 0; i < kWidth; ++i) kept.left(i) *= factors.v[i];
                   write(first, kept);
                 });
  }
};

// Calls run(fours) with how a grid goes over dY.
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

// Groups of two or four.
template <typename Fours>
struct NmPruneFours {
  static constexpr int kMostThreads = Fours::kMostThreads, kWidth = Fours::kWidth;
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

// Groups of eight, sixteen or all thirty-two lanes of a warp: a lane has one channel of its warp's
// pixels, and sees the others of its group by shuffles. Where planes are rescaled the block, which
// has all of their pixels, reads again what it has written. m divides the channels.
template <typename Number>
struct NmPruneLanes {
  static constexpr int kMostThreads = 256;
  NmOnGpu<Number> on;

  // A warp lies along the channels, however few there are.
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
    for_own_rows(
        thread, blocks(), own, a.pixels, [&](int64_t row) { return load(a.dy, row); },
        [&](int64_t row, float value) {
          const int64_t at = row * a.channels + channel;
          const float left = pruned(thread, own.column, value, at);
          sums.first[0] += std::fabs(value);
          sums.second[0] += std::fabs(left);
          kept += left != 0 ? 1 : 0;
          if (is_one) a.pruned[at] = Number(left);
        });
    if (on.rescale_plane) {
      const float factor = plane_factors(thread, own, sums).v[0];
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
  // All lanes of the warp take part.
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
      left *= rescaling_factor(whole, rest);
    }
    return left;
  }
};

// Calls run(kernel) with the kernel that does it: by vectors of sixteen bytes where dY is made of
// them, else by fours, number after number.
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
