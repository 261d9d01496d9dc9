// The weight gradient from the entries of a pruned dY on a GPU: by output channel, or by tiles of
// output channels. Tiles that are all zero are skipped.
#pragma once

#include <algorithm>

#include "kernels/gpu/weight_slices.h"
#include "kernels/pruned_dy/gradient_rows_gpu.h"

namespace approx {

// The lists of a dY. Pixels are divided into chunks, channels into tiles of kChannels neighbours of
// a group (the last tile of a group may be smaller). For every tile and chunk, the list has the
// pixels where one of the tile's channels is nonzero, ascending.
template <int kChannels>
struct PixelLists {
  static constexpr int kChunk = 512;  // pixels
  uint16_t* pixel = nullptr;          // [chunks,tiles,kChunk], from the first pixel of the chunk
  int32_t* count = nullptr;           // [chunks,tiles]

  static constexpr int64_t pixels(const Problem& p) { return p.n * p.ho * p.wo; }
  static constexpr int64_t chunks(const Problem& p) { return blocks_of(pixels(p), kChunk); }
  static constexpr int64_t tiles_of_group(const Problem& p) {
    return blocks_of(gradient_channels(p), kChannels);
  }
  static constexpr int64_t tiles(const Problem& p) { return tiles_of_group(p) * p.geometry.groups; }
};

// The output channels of a tile.
struct ChannelTile {
  int64_t group, first;
  int channels;

  template <int kChannels>
  static APPROX_GPU ChannelTile of(const Problem& p, int64_t tile) {
    const int64_t in_group = PixelLists<kChannels>::tiles_of_group(p), at = tile % in_group;
    const int64_t left = gradient_channels(p) - at * kChannels;
    return {tile / in_group, tile / in_group * gradient_channels(p) + at * kChannels,
            static_cast<int>(left < kChannels ? left : kChannels)};
  }
};

// Each lane has a tile, so that a warp reads neighbouring memory. Each warp of a block has a share
// of the chunk's pixels. It counts the entries there, then reads them again to list them after
// those of the previous warps.
template <typename Number, int kChannels>
struct ListPixels {
  static constexpr int kMostThreads = 256, kWarps = kMostThreads / kWarp;
  using Lists = PixelLists<kChannels>;
  Problem problem;
  const Number* dy = nullptr;  // [pixels,Co]
  Lists lists;

  Grid grid() const {
    return {.x = Lists::chunks(problem),
            .y = blocks_of(Lists::tiles(problem), kWarp),
            .threads = kMostThreads,
            .shared = kMostThreads * sizeof(int32_t)};
  }

  template <typename Thread>
  APPROX_GPU void operator()(Thread& thread) const {
    const int warp = thread.index() / kWarp, lane = thread.index() % kWarp;
    const int64_t tile = thread.block_y() * kWarp + lane, tiles = Lists::tiles(problem);
    const bool is_one = tile < tiles;
    const int64_t chunk = thread.block_x(), begin = chunk * Lists::kChunk;
    constexpr int kShare = Lists::kChunk / kWarps;
    int32_t* found = thread.template shared<int32_t>();  // [warps,lanes]
    int32_t own = 0;
    if (is_one) for_entries(tile, begin, warp * kShare, [&](int) { ++own; });
    found[thread.index()] = own;
    thread.barrier();
    if (!is_one) return;
    int32_t before = 0;
    for (int other = 0; other < warp; ++other) before += found[other * kWarp + lane];
    const int64_t list = chunk * tiles + tile;
    uint16_t* to = lists.pixel + list * Lists::kChunk + before;
    for_entries(tile, begin, warp * kShare,
                [&](int pixel) { *to++ = static_cast<uint16_t>(pixel); });
    if (warp == kWarps - 1) lists.count[list] = before + own;
  }

 private:
  // Calls body(pixel of the chunk) for each pixel in a warp's share of the chunk where the tile is
  // nonzero.
  template <typename Body>
  APPROX_GPU void for_entries(int64_t tile, int64_t begin, int first, Body body) const {
    const auto channels = ChannelTile::of<kChannels>(problem, tile);
    const int64_t left = Lists::pixels(problem) - begin;
    const int end = first + Lists::kChunk / kWarps;
    const Number* from = dy + begin * problem.co + channels.first;
    APPROX_UNROLL(4)
    for (int pixel = first; pixel < end && pixel < left; ++pixel) {
      bool is_full = false;
      for (int c = 0; c < channels.channels; ++c) {
        is_full = is_full || load_constant<1>(from + pixel * problem.co + c).v[0] != 0;
      }
      if (is_full) body(pixel);
    }
  }
};

// A block computes the slices of a tile's channels (SliceBlocks) for a part of the chunks. It puts
// the listed pixels and the tile's values there into shared memory. Each thread multiplies the
// numbers that it reads from x by all of these values. The batch is split into enough parts to have
// enough blocks, depending only on the shape. Each part has sums of its own, which SumOfParts adds
// up in order. Nothing is added in global memory.
template <typename Number, int kWidth, int kChannels>
struct ListedWeightGradient {
  using Blocks = SliceBlocks<kWidth>;
  using Lists = PixelLists<kChannels>;
  static constexpr int kMostThreads = Blocks::kMostThreads;
  Arguments<PrunedDY, Number> args;
  Lists lists;
  float* partial = nullptr;      // [parts,Co,slice]
  int64_t enough_blocks = 1024;  // the batch is split to get this many

  constexpr Blocks blocks() const { return {args.problem.slice_size()}; }
  constexpr int64_t chunks_of_part() const {
    const Problem& p = args.problem;
    const int64_t parts = blocks_of(enough_blocks, Lists::tiles(p) * blocks().chunks());
    return blocks_of(Lists::chunks(p), parts);
  }
  constexpr int64_t parts() const {
    return blocks_of(Lists::chunks(args.problem), chunks_of_part());
  }
  Grid grid() const {
    const size_t listed = static_cast<size_t>(blocks().threads()) * sizeof(Listed);
    return {.x = Lists::tiles(args.problem) * parts(),
            .y = blocks().chunks(),
            .threads = blocks().threads(),
            .shared = std::max(listed, blocks().shared())};
  }

  template <typename Thread>
  APPROX_GPU void operator()(Thread& thread) const {
    const Problem& p = args.problem;
    const int64_t tiles = Lists::tiles(p), tile = thread.block_x() % tiles;
    const int64_t part = thread.block_x() / tiles;
    const auto channels = ChannelTile::of<kChannels>(p, tile);
    const SliceThread<kWidth> at(blocks(), p, thread);
    const Number* x = args.x + channels.group * p.group_inputs();
    Floats<kWidth> sum[kChannels]{};
    Listed* listed = thread.template shared<Listed>();
    const int64_t begin = part * chunks_of_part(), end = begin + chunks_of_part();
    for (int64_t chunk = begin; chunk < end && chunk < Lists::chunks(p); ++chunk) {
      const int64_t list = chunk * tiles + tile;
      const int32_t count = lists.count[list];
      for (int32_t first = 0; first < count; first += thread.threads()) {
        const int left = count - first < thread.threads() ? count - first : thread.threads();
        if (thread.index() < left) {
          const int64_t pixel = lists.pixel[list * Lists::kChunk + first + thread.index()];
          listed[thread.index()] = entry(chunk * Lists::kChunk + pixel, channels);
        }
        thread.barrier();
        if (at.sums) add_listed(listed, left, p, at, x, sum);
        thread.barrier();
      }
    }
    for (int c = 0; c < kChannels; ++c) {
      join_slices(thread, at, thread.template shared<Floats<kWidth>>(), sum[c]);
      if (at.sums && at.part == 0 && c < channels.channels) {
        store<kWidth>(
            partial + (part * p.co + channels.first + c) * p.slice_size() + at.vector * kWidth,
            sum[c]);
      }
      if (kChannels > 1) thread.barrier();
    }
  }

 private:
  using Listed = ListedPixel<kChannels>;

  APPROX_GPU Listed entry(int64_t pixel, const ChannelTile& channels) const {
    const Problem& p = args.problem;
    const int64_t plane = p.ho * p.wo;
    Listed listed;
    listed.place(p, pixel / plane, static_cast<int32_t>(pixel % plane));
    const Number* dy = args.dy + pixel * p.co + channels.first;
    for (int c = 0; c < kChannels; ++c) {
      listed.value[c] = c < channels.channels ? load_constant<1>(dy + c).v[0] : 0.0f;
    }
    return listed;
  }
};

// Adds up the sums of the parts of a batch, one after the other.
template <typename Number>
struct SumOfParts {
  static constexpr int kMostThreads = 256;
  int64_t parts = 0, count = 0;
  const float* partial = nullptr;  // [parts,count]
  Number* out = nullptr;           // [count]

  Grid grid() const { return {.x = blocks_of(count, kMostThreads), .threads = kMostThreads}; }

  template <typename Thread>
  APPROX_GPU void operator()(Thread& thread) const {
    const int64_t i = thread.block_x() * thread.threads() + thread.index();
    if (i >= count) return;
    float sum = 0;
    APPROX_UNROLL(4)
    for (int64_t part = 0; part < parts; ++part) {
      sum += load_constant<1>(partial + part * count + i).v[0];
    }
    store<1>(out + i, Floats<1>{{sum}});
  }
};

}  // namespace approx
