#include "kernels/gpu/launch.cuh"
#include "kernels/probe/copy_rounds_gpu.h"

namespace approx {
namespace {

void launch_copy_rounds(const CopyRoundsArgs& args, void* stream) {
  launch(CopyRounds{args}, stream);
}

REGISTER_LAUNCH(CopyRoundsArgs, launch_copy_rounds);

}  // namespace
}  // namespace approx
