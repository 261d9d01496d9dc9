// Adds up sums of blocks within the launch that makes them. No second launch is needed, and no
// block reads the sums of all.
//
// Each kJoinedBlocks neighbouring blocks are a group. The last block of a group to finish adds up
// the group's sums; the last of these blocks adds up the sums of the groups. Both add in double and
// in the order of the blocks, so that the result does not depend on which block was last.
#pragma once

#include "kernels/gpu/planes.h"

namespace approx {

constexpr int64_t kJoinedBlocks = 32;
constexpr int64_t joined_groups(int64_t blocks) { return blocks_of(blocks, kJoinedBlocks); }

// Memory for the sums of a grid of `blocks` x `columns` blocks.
struct JoinedRoom {
  float* partial = nullptr;      // [blocks,2,channels]
  double* groups = nullptr;      // [joined_groups(blocks),2,channels]
  uint32_t* arrivals = nullptr;  // [columns,joined_groups(blocks) + 1]; zeros before and after
};
constexpr int64_t arrivals_of(int64_t blocks, int64_t columns) {
  return columns * (joined_groups(blocks) + 1);
}

using JoinedSums = TwoSums<double, 1>;

// Adds up [count,2,channels] from `from` on for one channel, in order.
template <typename Number>
APPROX_GPU JoinedSums sums_in_order(const Number* from, int64_t count, int64_t channels,
                                    int64_t channel) {
  struct Pair {
    Number first, second;
  };
  JoinedSums sums;
  sums.clear();
  for_loaded<8>(
      0, count, 1,
      [&](int64_t i) {
        const Number* at = from + 2 * i * channels + channel;
        return Pair{load_fresh(at), load_fresh(at + channels)};
      },
      [&](int64_t /*i*/, const Pair& pair) {
        sums.first[0] += static_cast<double>(pair.first);
        sums.second[0] += static_cast<double>(pair.second);
      });
  return sums;
}

// Called by all threads of a grid of `blocks`, after those of each block have written its sums to
// room.partial. Calls body(channel, sums) once for each channel, with the sums of all blocks.
template <typename Thread, typename Body>
APPROX_GPU void join_sums(Thread& thread, const PlaneBlocks& blocks, int64_t channels,
                          const JoinedRoom& room, Body body) {
  const int64_t width = channels / blocks.vectors * blocks.columns();  // channels of a block
  const int64_t first = thread.block_y() * width;
  const int64_t end = first + width < channels ? first + width : channels;
  const int64_t groups = joined_groups(blocks.images), group = thread.block_x() / kJoinedBlocks;
  const int64_t begin = group * kJoinedBlocks, rest = blocks.images - begin;
  const int64_t own = rest < kJoinedBlocks ? rest : kJoinedBlocks;
  uint32_t* arrivals = room.arrivals + thread.block_y() * (groups + 1);
  if (!thread.last_to_come(arrivals + group, static_cast<uint32_t>(own))) return;
  for (int64_t c = first + thread.index(); c < end; c += thread.threads()) {
    JoinedSums sums = sums_in_order(room.partial + begin * 2 * channels, own, channels, c);
    if (groups == 1) {
      body(c, sums);
    } else {
      double* left = room.groups + group * 2 * channels + c;
      left[0] = sums.first[0];
      left[channels] = sums.second[0];
    }
  }
  if (groups == 1) return;
  if (!thread.last_to_come(arrivals + groups, static_cast<uint32_t>(groups))) return;
  for (int64_t c = first + thread.index(); c < end; c += thread.threads()) {
    body(c, sums_in_order(room.groups, groups, channels, c));
  }
}

}  // namespace approx
