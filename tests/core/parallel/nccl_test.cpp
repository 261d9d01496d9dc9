// What can be said of ranks with a GPU each where there is none.
#include <dlfcn.h>
#include <gtest/gtest.h>

#include "core/parallel/collectives.h"
#include "kernels/library.h"

namespace approx {
namespace {

// The library is linked with nothing of CUDA or NCCL, and all that it takes must be in the
// libraries that are opened before it.
TEST(DeviceCollectives, AreFoundInALibraryOfTheirOwn) {
  if (dlopen("libtorch_cuda.so", RTLD_NOW | RTLD_GLOBAL) == nullptr) {
    GTEST_SKIP() << "this LibTorch has no CUDA part";
  }
  if (!open_beside("libapproxtrain_nccl.so")) GTEST_SKIP() << "built without NCCL";
  EXPECT_NE(device_collectives_maker(), nullptr);
  EXPECT_NO_THROW(require_device_collectives(2));
}

}  // namespace
}  // namespace approx
