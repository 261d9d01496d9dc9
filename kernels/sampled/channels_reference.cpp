#include <algorithm>

#include "kernels/float16.h"
#include "kernels/sampled/channels.h"

namespace approx {
namespace {

template <typename Number>
Number times_factor(const ChannelPart& which, int64_t i, Number number) {
  return which.factor == nullptr ? number : Number(static_cast<float>(number) * which.factor[i]);
}

}  // namespace

template <typename Number>
void take_channels_reference(const ChannelPart& which, const Number* whole, Number* part,
                             int64_t begin, int64_t end) {
  for (int64_t row = begin; row < end; ++row) {
    for (int64_t i = 0; i < which.kept; ++i) {
      part[row * which.kept + i] =
          times_factor(which, i, whole[row * which.channels + which.index[i]]);
    }
  }
}

template <typename Number>
void put_channels_reference(const ChannelPart& which, const Number* part, Number* whole,
                            int64_t begin, int64_t end) {
  std::fill(whole + begin * which.channels, whole + end * which.channels, Number());
  for (int64_t row = begin; row < end; ++row) {
    for (int64_t i = 0; i < which.kept; ++i) {
      whole[row * which.channels + which.index[i]] =
          times_factor(which, i, part[row * which.kept + i]);
    }
  }
}

#define APPROX_CHANNELS_OF(NUMBER)                                                           \
  template void take_channels_reference(const ChannelPart&, const NUMBER*, NUMBER*, int64_t, \
                                        int64_t);                                            \
  template void put_channels_reference(const ChannelPart&, const NUMBER*, NUMBER*, int64_t, int64_t)

APPROX_CHANNELS_OF(float);
APPROX_CHANNELS_OF(BFloat16);
APPROX_CHANNELS_OF(Float16);

}  // namespace approx
