#include "kernels/threads.h"

#include <ATen/Parallel.h>
#include <gtest/gtest.h>

namespace approx {
namespace {

TEST(Threads, ParallelLoopsOfTheKernelsRunOnAllOfThem) {
  const int before = at::get_num_threads();
  for (const int threads : {1, 2, 3}) {
    at::set_num_threads(threads);
    EXPECT_EQ(threads_at_work(), threads);
  }
  at::set_num_threads(before);
}

}  // namespace
}  // namespace approx
