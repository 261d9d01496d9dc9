// Candidates for taking channels out and putting them back on a GPU, by sixteen bytes at a time:
// rows pass through shared memory. Numbers have 16 bits; 8 divides both numbers of channels; no
// factors.
#pragma once

#include "kernels/gpu/loads.h"
#include "kernels/gpu/planes.h"
#include "kernels/sampled/channels.h"

namespace approx::lab {

// A block moves kRows rows at a time: reads what they have by vectors, and writes by vectors what
// it gathers from shared memory.
template <int kRows>
struct TakeWide {
  static constexpr int kMostThreads = 256;
  MoveChannels<BFloat16> on;
  int64_t most_blocks = 1056;

  Grid grid() const {
    const int64_t enough = blocks_of(on.rows, kRows);
    return {.x = enough < most_blocks ? enough : most_blocks,
            .threads = kMostThreads,
            .shared = static_cast<size_t>(kRows * on.which.channels) * sizeof(uint16_t) +
                      static_cast<size_t>(on.which.kept) * sizeof(int32_t)};
  }

  template <typename Thread>
  APPROX_GPU void operator()(Thread& thread) const {
    const auto channels = static_cast<int>(on.which.channels);
    const auto kept = static_cast<int>(on.which.kept);
    auto* index = thread.template shared<int32_t>();
    auto* rows = thread.template shared<BFloat16>(static_cast<size_t>(kept) * sizeof(int32_t));
    for (int i = thread.index(); i < kept; i += thread.threads()) {
      index[i] = static_cast<int32_t>(on.which.index[i]);
    }
    for (int64_t first = thread.block_x() * kRows; first < on.rows;
         first += thread.blocks() * kRows) {
      const int count = static_cast<int>(on.rows - first < kRows ? on.rows - first : kRows);
      thread.barrier();
      for_loaded<4>(
          thread.index(), count * channels / 8, thread.threads(),
          [&](int64_t i) { return load_by<8, 8>(on.from + first * channels + i * 8); },
          [&](int64_t i, const Neighbours<BFloat16, 8>& eight) {
            *reinterpret_cast<Neighbours<BFloat16, 8>*>(rows + i * 8) = eight;
          });
      thread.barrier();
      const int vectors = kept / 8;
      for (int i = thread.index(); i < count * vectors; i += thread.threads()) {
        const int row = i / vectors, at = i % vectors * 8;
        Halves<8> taken;
        for (int k = 0; k < 8; ++k) taken.v[k] = rows[row * channels + index[at + k]].bits;
        store_bits<8>(&on.to[(first + row) * kept + at].bits, taken);
      }
    }
  }
};

// Likewise, with zeros between: a list says for each channel where it is in the part, or -1.
template <int kRows>
struct PutWide {
  static constexpr int kMostThreads = 256;
  MoveChannels<BFloat16> on;
  int64_t most_blocks = 1056;

  Grid grid() const {
    const int64_t enough = blocks_of(on.rows, kRows);
    return {.x = enough < most_blocks ? enough : most_blocks,
            .threads = kMostThreads,
            .shared = static_cast<size_t>(kRows * on.which.kept) * sizeof(uint16_t) +
                      static_cast<size_t>(on.which.channels) * sizeof(int32_t)};
  }

  template <typename Thread>
  APPROX_GPU void operator()(Thread& thread) const {
    const auto channels = static_cast<int>(on.which.channels);
    const auto kept = static_cast<int>(on.which.kept);
    auto* place = thread.template shared<int32_t>();
    auto* rows = thread.template shared<BFloat16>(static_cast<size_t>(channels) * sizeof(int32_t));
    for (int c = thread.index(); c < channels; c += thread.threads()) place[c] = -1;
    thread.barrier();
    for (int i = thread.index(); i < kept; i += thread.threads()) place[on.which.index[i]] = i;
    for (int64_t first = thread.block_x() * kRows; first < on.rows;
         first += thread.blocks() * kRows) {
      const int count = static_cast<int>(on.rows - first < kRows ? on.rows - first : kRows);
      thread.barrier();
      for_loaded<4>(
          thread.index(), count * kept / 8, thread.threads(),
          [&](int64_t i) { return load_by<8, 8>(on.from + first * kept + i * 8); },
          [&](int64_t i, const Neighbours<BFloat16, 8>& eight) {
            *reinterpret_cast<Neighbours<BFloat16, 8>*>(rows + i * 8) = eight;
          });
      thread.barrier();
      const int vectors = channels / 8;
      for (int i = thread.index(); i < count * vectors; i += thread.threads()) {
        const int row = i / vectors, at = i % vectors * 8;
        Halves<8> put;
        for (int k = 0; k < 8; ++k) {
          const int32_t from = place[at + k];
          put.v[k] = from < 0 ? uint16_t{0} : rows[row * kept + from].bits;
        }
        store_bits<8>(&on.to[(first + row) * channels + at].bits, put);
      }
    }
  }
};

}  // namespace approx::lab
