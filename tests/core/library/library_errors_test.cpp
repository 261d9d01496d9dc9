#include "core/library/library_errors.h"

#include <ATen/ops/empty.h>
#include <gtest/gtest.h>

#include "core/engine/engine.h"

namespace approx {
namespace {

TEST(LibraryErrors, MemoryOfTheMachineRanOut) {
#ifdef __SANITIZE_ADDRESS__
  GTEST_SKIP() << "the sanitizer's allocator ends the process";
#endif
  EXPECT_THROW(with_own_errors([] { at::empty({int64_t{1} << 56}); }), OutOfMemory);
}

TEST(LibraryErrors, MemoryOfADeviceRanOut) {
  EXPECT_THROW(
      with_own_errors([] { TORCH_CHECK_WITH(OutOfMemoryError, false, "a device is full"); }),
      OutOfMemory);
  EXPECT_THROW(with_own_errors([] { TORCH_CHECK(false, "CUDA error: out of memory"); }),
               OutOfMemory);
  EXPECT_THROW(with_own_errors([] {
                 TORCH_CHECK(false, "CUDA error: CUBLAS_STATUS_ALLOC_FAILED when calling x");
               }),
               OutOfMemory);
}

// Of one line: what LibTorch adds about where in itself it noticed says nothing to a user.
TEST(LibraryErrors, ADeviceFailed) {
  for (const char* text : {"CUDA error: an illegal memory access was encountered",
                           "cuDNN error: CUDNN_STATUS_EXECUTION_FAILED"}) {
    try {
      with_own_errors([&] { TORCH_CHECK(false, text); });
      FAIL() << text;
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::kDevice);
      EXPECT_STREQ(error.what(), text);
    }
  }
  EXPECT_THROW(with_own_errors([] { throw c10::AcceleratorError({}, 700, "an illegal address"); }),
               Error);
}

TEST(LibraryErrors, OthersAreWhatTheySay) {
  try {
    with_own_errors([] { TORCH_CHECK(false, "sizes do not match\n"); });
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kInternal);
    EXPECT_STREQ(error.what(), "sizes do not match");
  }
  EXPECT_EQ(with_own_errors([] { return 3; }), 3);
}

// What the machine's allocator says takes a line, and not a page of its calls.
TEST(LibraryErrors, WantOfMemoryIsALine) {
#ifdef __SANITIZE_ADDRESS__
  GTEST_SKIP() << "the sanitizer's allocator ends the process";
#endif
  try {
    with_own_errors([] { at::empty({int64_t{1} << 56}); });
    FAIL();
  } catch (const OutOfMemory& error) {
    EXPECT_EQ(std::string_view(error.what()).find('\n'), std::string_view::npos) << error.what();
  }
}

}  // namespace
}  // namespace approx
