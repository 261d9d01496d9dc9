#include "core/engine/out_of_memory.h"

#include <ATen/ops/empty.h>
#include <gtest/gtest.h>

namespace approx {
namespace {

bool says_so(void (*work)()) {
  try {
    work();
  } catch (const c10::Error& error) {
    return is_out_of_memory(error);
  }
  return false;
}

TEST(OutOfMemory, OfTheMachineIsRecognised) {
#ifdef __SANITIZE_ADDRESS__
  GTEST_SKIP() << "the sanitizer's allocator ends the process";
#endif
  EXPECT_TRUE(says_so([] { at::empty({int64_t{1} << 56}); }));
}

TEST(OutOfMemory, OfADeviceIsToldApartFromOtherErrors) {
  EXPECT_TRUE(says_so([] { TORCH_CHECK_WITH(OutOfMemoryError, false, "a device is full"); }));
  EXPECT_TRUE(says_so([] { TORCH_CHECK(false, "CUDA error: out of memory"); }));
  EXPECT_FALSE(says_so([] { TORCH_CHECK(false, "sizes do not match"); }));
}

}  // namespace
}  // namespace approx
