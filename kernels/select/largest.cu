#include "kernels/gpu/launch.cuh"
#include "kernels/select/largest_gpu.h"

namespace approx {
namespace {

void launch_largest(const LargestArgs& args, void* stream) { launch(LargestScores{args}, stream); }

REGISTER_LAUNCH(LargestArgs, launch_largest);

}  // namespace
}  // namespace approx
