#include "kernels/float16.h"
#include "kernels/gpu/launch.cuh"
#include "kernels/sampled/channels_gpu.h"

namespace approx {
namespace {

template <typename Number>
void launch_move(const MoveChannels<Number>& on, void* stream) {
  if (on.puts) return launch(PutChannels<Number>{on}, stream);
  launch(TakeChannels<Number>{on}, stream);
}

REGISTER_LAUNCH(MoveChannels<float>, launch_move<float>);
REGISTER_LAUNCH(MoveChannels<BFloat16>, launch_move<BFloat16>);
REGISTER_LAUNCH(MoveChannels<Float16>, launch_move<Float16>);

}  // namespace
}  // namespace approx
