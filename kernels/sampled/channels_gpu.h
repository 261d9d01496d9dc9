// Takes channels out and puts them back on a GPU.
#pragma once

#include "kernels/gpu/planes.h"
#include "kernels/sampled/channels.h"

namespace approx {

template <typename Number>
APPROX_GPU Number times_factor_of(const ChannelPart& which, int64_t i, Number number) {
  return which.factor == nullptr ? number : Number(static_cast<float>(number) * which.factor[i]);
}

// Each thread has one channel of the part, and moves it for its rows. Writes are to neighbouring
// memory; reads fetch whole rows.
template <typename Number>
struct TakeChannels {
  static constexpr int kMostThreads = 256;
  MoveChannels<Number> on;

  constexpr PlaneBlocks blocks() const { return blocks_of_rows(on.rows, on.which.kept); }
  Grid grid() const { return blocks().grid(0); }

  template <typename Thread>
  APPROX_GPU void operator()(Thread& thread) const {
    const PlaneThread at(blocks(), thread);
    const int64_t i = at.vector, kept = on.which.kept;
    if (i >= kept) return;
    const int64_t channel = on.which.index[i];
    for_own_rows(thread, blocks(), at, on.rows, [&](int64_t row) {
      on.to[row * kept + i] =
          times_factor_of(on.which, i, on.from[row * on.which.channels + channel]);
    });
  }
};

// Each thread has one channel of the whole, and searches once for its position in the part.
template <typename Number>
struct PutChannels {
  static constexpr int kMostThreads = 256;
  MoveChannels<Number> on;

  constexpr PlaneBlocks blocks() const { return blocks_of_rows(on.rows, on.which.channels); }
  Grid grid() const { return blocks().grid(0); }

  template <typename Thread>
  APPROX_GPU void operator()(Thread& thread) const {
    const PlaneThread at(blocks(), thread);
    const int64_t channel = at.vector, channels = on.which.channels;
    if (channel >= channels) return;
    const int64_t i = first_from(channel);
    const bool is_kept = i < on.which.kept && on.which.index[i] == channel;
    for_own_rows(thread, blocks(), at, on.rows, [&](int64_t row) {
      on.to[row * channels + channel] =
          is_kept ? times_factor_of(on.which, i, on.from[row * on.which.kept + i]) : Number(0.0f);
    });
  }

 private:
  // The position of the first index that is not below `channel`.
  APPROX_GPU int64_t first_from(int64_t channel) const {
    int64_t low = 0, high = on.which.kept;
    while (low < high) {
      const int64_t middle = (low + high) / 2;
      if (on.which.index[middle] < channel) {
        low = middle + 1;
      } else {
        high = middle;
      }
    }
    return low;
  }
};

}  // namespace approx
