#include <algorithm>

#include "kernels/sampled/channels.h"

namespace approx {

void take_channels_reference(const ChannelPart& which, const float* whole, float* part,
                             int64_t begin, int64_t end) {
  for (int64_t row = begin; row < end; ++row) {
    for (int64_t i = 0; i < which.kept; ++i) {
      const float factor = which.factor == nullptr ? 1 : which.factor[i];
      part[row * which.kept + i] = whole[row * which.channels + which.index[i]] * factor;
    }
  }
}

void put_channels_reference(const ChannelPart& which, const float* part, float* whole,
                            int64_t begin, int64_t end) {
  std::fill(whole + begin * which.channels, whole + end * which.channels, 0.0F);
  for (int64_t row = begin; row < end; ++row) {
    for (int64_t i = 0; i < which.kept; ++i) {
      const float factor = which.factor == nullptr ? 1 : which.factor[i];
      whole[row * which.channels + which.index[i]] = part[row * which.kept + i] * factor;
    }
  }
}

}  // namespace approx
