// Products of 1x1 layers under a sample of channels on the tensor cores of a GPU.
#pragma once

#include "kernels/trials/fused_gather.h"
#include "kernels/trials/tensor_tiles.h"

namespace approx {

// Gathers the weights. Each block has 32 rows of 32, which it transposes in shared memory, so that
// both its reads and its writes are of neighbouring memory.
template <typename Number>
struct GatherWeights {
  static constexpr int kMostThreads = 256, kSide = 32;
  ListedWeights<Number> on;

  Grid grid() const {
    return {.x = on.padded_rows / kSide,
            .y = on.padded_depth / kSide,
            .threads = kMostThreads,
            .shared = sizeof(uint16_t) * kSide * kTurnedRow};
  }

  template <typename Thread>
  APPROX_GPU void operator()(Thread& thread) const {
    auto* turned = thread.template shared<uint16_t>();
    const int lane = thread.index() % kWarp, warp = thread.index() / kWarp;
    const int64_t row = thread.block_x() * kSide, depth = thread.block_y() * kSide;
    const bool along_rows = on.of_row == 1;
    for (int i = warp; i < kSide; i += kMostThreads / kWarp) {
      const int r = along_rows ? lane : i, d = along_rows ? i : lane;
      turned[r * kTurnedRow + d] = weight(row + r, depth + d).bits;
    }
    thread.barrier();
    for (int i = warp; i < kSide; i += kMostThreads / kWarp) {
      on.out[(row + i) * on.padded_depth + depth + lane].bits = turned[i * kTurnedRow + lane];
    }
  }

 private:
  static constexpr int kTurnedRow = kSide + 2;  // avoids bank conflicts within a column

  APPROX_GPU Number weight(int64_t row, int64_t depth) const {
    if (row >= on.rows || depth >= on.depth) return Number(0.0f);
    const int64_t j = on.list_on_rows ? row : depth, channel = on.index[j];
    const int64_t at = on.list_on_rows ? channel * on.of_row + depth * on.of_depth
                                       : row * on.of_row + channel * on.of_depth;
    return on.scale == nullptr ? on.w[at] : Number(static_cast<float>(on.w[at]) * on.scale[j]);
  }
};

// Begins to copy 32 numbers of each row of the weights, from `row` on, into a stage.
template <typename Tile, typename Thread, typename Number>
APPROX_GPU void copy_weights(Thread& thread, const Number* weights, int64_t depth, int64_t row,
                             int64_t step, typename Tile::Stage& stage, int columns) {
  constexpr int kEights = Tile::kDepth / 8;
  for (int piece = thread.index(); piece < columns * kEights; piece += Tile::kThreads) {
    const int column = piece / kEights, eight = piece % kEights;
    thread.template copy<16>(stage.b + column * Tile::kStagedRow + eight * 8,
                             weights + (row + column) * depth + step * Tile::kDepth + eight * 8);
  }
}

// Each block has 128 pixels and kColumns columns of the result. Blocks of the same pixels are
// neighbours, so that one finds in a cache what another has read.
// Each thread has two neighbouring places of the sample at each step, and eight pixels. It reads
// its channels number by number and packs them in shared memory as pairs. The lanes of half a warp
// read one row between the first and the last channel that they need. So each sector of it is read
// once, and sectors without a kept channel are not read. Copying rows by vectors would need as many
// reads from shared memory for packing, and memory for dropped channels. It would also require a
// sorted list.
template <typename Number, int kColumns>
struct SampledSum {
  static constexpr int kMostThreads = 256;
  using Tile = TensorTile<Number, kColumns>;
  using Stage = typename Tile::Stage;
  SampleSum<Number> on;

  constexpr int64_t tiles() const { return blocks_of(on.columns, kColumns); }
  Grid grid() const {
    return {.x = blocks_of(on.pixels, Tile::kRows) * tiles(),
            .threads = kMostThreads,
            .shared = Tile::kShared};
  }

  template <typename Thread>
  APPROX_GPU void operator()(Thread& thread) const {
    const int64_t pixel = thread.block_x() / tiles() * Tile::kRows;
    const int64_t column = thread.block_x() % tiles() * kColumns;
    const int row = thread.index() / kPairs, pair = thread.index() % kPairs;
    const Number* numbers = on.from + (pixel + row) * on.channels;
    // From here on in 32 bits, to save registers.
    const auto rows_left =
        static_cast<int32_t>(on.pixels - pixel < Tile::kRows ? on.pixels - pixel : Tile::kRows) -
        row;
    const auto apart = static_cast<int32_t>(on.channels) * kRowsApart;
    Taken taken;
    // Channels of the next step: the list must arrive before x is read.
    int32_t low = channel_at(2 * pair), high = channel_at(2 * pair + 1);
    typename Tile::Sums sums;
    Tile::multiply(
        thread, on.depth / Tile::kDepth,
        [&](int64_t step, Stage& stage) {
          for (int i = 0; i < kOwnRows; ++i) {
            const bool is_one = i * kRowsApart < rows_left;
            taken.low[i] = is_one && low >= 0 ? numbers[i * apart + low].bits : uint16_t{0};
            taken.high[i] = is_one && high >= 0 ? numbers[i * apart + high].bits : uint16_t{0};
          }
          low = channel_at((step + 1) * Tile::kDepth + 2 * pair);
          high = channel_at((step + 1) * Tile::kDepth + 2 * pair + 1);
          copy_weights<Tile>(thread, on.weights, on.depth, column, step, stage, kColumns);
        },
        [&](int64_t /*step*/, Stage& stage) {
          for (int i = 0; i < kOwnRows; ++i) {
            const Halves<2> two{{taken.low[i], taken.high[i]}};
            store_bits<2>(stage.a + (row + i * kRowsApart) * Tile::kStagedRow + 2 * pair, two);
          }
        },
        sums);
    const uint16_t* result =
        Tile::rounded(thread, sums, [](int /*column*/, float sum) { return sum; });
    write(thread, result, pixel, column);
  }

 private:
  static constexpr int kPairs = Tile::kDepth / 2, kRowsApart = kMostThreads / kPairs;
  static constexpr int kOwnRows = Tile::kRows / kRowsApart;

  struct Taken {
    uint16_t low[kOwnRows], high[kOwnRows];
  };

  // The channel of place j of the sample; -1 beyond the last.
  APPROX_GPU int32_t channel_at(int64_t j) const {
    return static_cast<int32_t>(j >= on.kept ? -1 : on.index == nullptr ? j : on.index[j]);
  }

  template <typename Thread>
  APPROX_GPU void write(const Thread& thread, const uint16_t* result, int64_t pixel,
                        int64_t column) const {
    constexpr int kEights = kColumns / 8;
    for (int piece = thread.index(); piece < Tile::kRows * kEights; piece += kMostThreads) {
      const int row = piece / kEights, eight = piece % kEights * 8;
      if (pixel + row >= on.pixels || column + eight >= on.columns) continue;
      store_bits<8>(&on.out[(pixel + row) * on.columns + column + eight].bits,
                    load_bits<8>(result + row * Tile::kResultRow + eight));
    }
  }
};

// Each block has 128 pixels and a part of the channels of the result. The part has the channels of
// its places of the sample, and those between and beside them. Together the parts are all channels,
// so that each number is written once, in vectors of eight, zero or not. No vector may be shared,
// so a part begins with the first kept channel of a vector. It begins kColumns - 8 places of the
// sample after the previous part, or up to seven fewer.
template <typename Number, int kColumns>
struct SampledSpread {
  static constexpr int kMostThreads = 256;
  using Tile = TensorTile<Number, kColumns>;
  using Stage = typename Tile::Stage;
  SampleSpread<Number> on;

  constexpr int64_t tiles() const { return on.kept == 0 ? 1 : blocks_of(on.kept, kPlacesApart); }
  Grid grid() const {
    return {.x = blocks_of(on.pixels, Tile::kRows) * tiles(),
            .threads = kMostThreads,
            .shared = Tile::kShared};
  }

  template <typename Thread>
  APPROX_GPU void operator()(Thread& thread) const {
    const int64_t pixel = thread.block_x() / tiles() * Tile::kRows;
    const int64_t tile = thread.block_x() % tiles();
    const int64_t first = place_of(tile), end = place_of(tile + 1);
    typename Tile::Sums sums;
    Tile::multiply(
        thread, on.depth / Tile::kDepth,
        [&](int64_t step, Stage& stage) {
          copy_rows(thread, pixel, step, stage);
          copy_weights<Tile>(thread, on.weights, on.depth, first, step, stage, kColumns);
        },
        [](int64_t /*step*/, Stage& /*stage*/) {}, sums);
    // Channels outside the sample are zero, whatever the product of their zeros is.
    uint16_t* zeros = thread.template shared<uint16_t>() + kColumns;
    if (thread.index() < Tile::kRows) zeros[thread.index() * Tile::kResultRow] = 0;
    const uint16_t* result = Tile::rounded(thread, sums, [&](int column, float sum) {
      return on.scale == nullptr || first + column >= end ? sum : sum * on.scale[first + column];
    });
    write(thread, result, pixel, tile, first, end);
  }

 private:
  static constexpr int kPlacesApart = kColumns - 8;
  static constexpr int kAcross = 16;  // threads along a row of the result

  // The first channel of a part; for the part after the last, one past the last channel.
  APPROX_GPU int64_t channel_of(int64_t tile) const {
    return tile == 0 ? 0 : tile == tiles() ? on.channels : on.index[tile * kPlacesApart] / 8 * 8;
  }
  // The first place of the sample in the part.
  APPROX_GPU int64_t place_of(int64_t tile) const {
    if (tile == tiles()) return on.kept;
    int64_t place = tile * kPlacesApart;
    while (place > 0 && on.index[place - 1] >= channel_of(tile)) --place;
    return place;
  }

  template <typename Thread>
  APPROX_GPU void copy_rows(Thread& thread, int64_t pixel, int64_t step, Stage& stage) const {
    constexpr int kEights = Tile::kDepth / 8;
    for (int piece = thread.index(); piece < Tile::kRows * kEights; piece += kMostThreads) {
      const int row = piece / kEights;
      const int64_t term = step * Tile::kDepth + piece % kEights * 8;
      uint16_t* to = stage.a + row * Tile::kStagedRow + piece % kEights * 8;
      if (pixel + row < on.pixels && term < on.terms) {
        thread.template copy<16>(to, on.from + (pixel + row) * on.terms + term);
      } else {
        store_bits<8>(to, Halves<8>{});
      }
    }
  }

  // The first place in [low, high) whose channel is not below `channel`.
  APPROX_GPU int64_t place_from(int64_t channel, int64_t low, int64_t high) const {
    while (low < high) {
      const int64_t middle = (low + high) / 2;
      if (on.index[middle] < channel) {
        low = middle + 1;
      } else {
        high = middle;
      }
    }
    return low;
  }

  template <typename Thread>
  APPROX_GPU void write(const Thread& thread, const uint16_t* result, int64_t pixel, int64_t tile,
                        int64_t first, int64_t end) const {
    const int64_t begin = channel_of(tile), last = channel_of(tile + 1);
    for (int64_t channel = begin + thread.index() % kAcross * 8; channel < last;
         channel += int64_t{kAcross} * 8) {
      // Where each of eight channels is in a row of the result, or the position of the zero.
      int column[8];
      int64_t place = place_from(channel, first, end);
      for (int i = 0; i < 8; ++i) {
        const bool is_kept = place < end && on.index[place] == channel + i;
        column[i] = is_kept ? static_cast<int>(place - first) : kColumns;
        if (is_kept) ++place;
      }
      for (int row = thread.index() / kAcross; row < Tile::kRows; row += kMostThreads / kAcross) {
        if (pixel + row >= on.pixels) break;
        Halves<8> eight;
        for (int i = 0; i < 8; ++i) eight.v[i] = result[row * Tile::kResultRow + column[i]];
        store_bits<8>(&on.out[(pixel + row) * on.channels + channel].bits, eight);
      }
    }
  }
};

}  // namespace approx
