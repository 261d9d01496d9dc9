#include "core/train/trace/trace_writer.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <string>

namespace approx {
namespace {

// What `write` writes, through a file in memory.
template <typename Write>
std::string written(Write write) {
  char* text = nullptr;
  size_t size = 0;
  {
    TraceWriter writer(open_memstream(&text, &size), "small_cnn\nzero");
    write(writer);
  }
  std::string result(text, size);
  std::free(text);
  return result;
}

TEST(TraceWriter, NamesAKernelOnceAndCountsFromTheFirstRecord) {
  const TracedKernel first{.span = {.start = 1000,
                                    .end = 1500,
                                    .stream = 7,
                                    .graph = 3,
                                    .node = (uint64_t{3} << 32) + 1,
                                    .launch = 11},
                           .name = "_ZN6approx5emptyEi",
                           .registers = 40,
                           .shared_bytes = 1024,
                           .grid = {132, 2, 1},
                           .block = {256, 1, 1}};
  TracedKernel earlier = first;
  earlier.span.start = 900;
  earlier.span.end = 950;
  earlier.name = "plain";
  EXPECT_EQ(written([&](TraceWriter& writer) {
              writer.kernel(first);
              writer.kernel(first);
              writer.kernel(earlier);
            }),
            "approxtrain-trace 1 small_cnn zero\n"
            "n 0 approx::empty(int)\n"
            "k 0 0 500 40 1024 132 2 1 256 1 1 7 3 12884901889 11\n"
            "k 0 0 500 40 1024 132 2 1 256 1 1 7 3 12884901889 11\n"
            "n 1 plain\n"
            "k 1 -100 50 40 1024 132 2 1 256 1 1 7 3 12884901889 11\n");
}

TEST(TraceWriter, WritesCopiesAndSetsAndTheEnd) {
  const TraceSpan span{.start = 10, .end = 30, .stream = 7, .launch = 2};
  EXPECT_EQ(written([&](TraceWriter& writer) {
              writer.copy(span, 8, 4096);
              writer.set(span, 64);
              writer.end(5);
            }),
            "approxtrain-trace 1 small_cnn zero\n"
            "c 8 4096 0 20 7 0 0 2\n"
            "s 64 0 20 7 0 0 2\n"
            "e 2 5\n");
}

TEST(TraceWriter, CountsRecordsWithoutTimesAsLost) {
  EXPECT_EQ(written([](TraceWriter& writer) {
              writer.set({}, 64);
              writer.kernel({.span = {.start = 20, .end = 10}, .name = "backwards"});
              writer.set({.start = 5, .end = 5}, 1);
              writer.end(0);
            }),
            "approxtrain-trace 1 small_cnn zero\n"
            "s 1 0 0 0 0 0 0\n"
            "e 1 2\n");
}

TEST(TraceWriter, KeepsANameThatIsNotMangled) {
  EXPECT_EQ(demangled("sm90_xmma_fprop"), "sm90_xmma_fprop");
  EXPECT_EQ(demangled("_ZN6approx5emptyEi"), "approx::empty(int)");
}

}  // namespace
}  // namespace approx
