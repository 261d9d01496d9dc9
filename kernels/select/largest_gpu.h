// The largest of some scores, on a GPU.
#pragma once

#include "kernels/gpu/kernel.h"
#include "kernels/select/largest.h"

namespace approx {

// One block has all scores in its shared memory, and each thread counts for its own how many are
// before it: a score is among the k largest where fewer than k are. So nothing is sorted, and the
// indices ascend as they are written.
struct LargestScores {
  static constexpr int kMostThreads = 1024;
  LargestArgs args;

  Grid grid() const {
    const int64_t warps = blocks_of(args.count, kWarp);
    const int64_t threads = warps * kWarp < kMostThreads ? warps * kWarp : kMostThreads;
    return {.x = args.k == 0 ? 0 : 1,
            .threads = static_cast<int>(threads),
            .shared = kHead + static_cast<size_t>(args.count) * sizeof(double)};
  }

  template <typename Thread>
  APPROX_GPU void operator()(Thread& thread) const {
    auto* of_warps = thread.template shared<int32_t>();
    auto* score = thread.template shared<double>(kHead);
    for (int64_t i = thread.index(); i < args.count; i += thread.threads()) {
      score[i] = args.score[i];
    }
    thread.barrier();
    int64_t written = 0;  // by the turns before
    for (int64_t first = 0; first < args.count; first += thread.threads()) {
      const int64_t i = first + thread.index();
      const bool is_chosen = i < args.count && ahead_of(score, i) < args.k;
      const uint32_t chosen = thread.ballot(is_chosen);
      const int warp = thread.index() / kWarp, lane = thread.index() % kWarp;
      if (lane == 0) of_warps[warp] = bits_in(chosen);
      thread.barrier();
      int64_t place = written;
      for (int other = 0; other < thread.threads() / kWarp; ++other) {
        written += of_warps[other];
        if (other < warp) place += of_warps[other];
      }
      if (is_chosen) args.index[place + bits_in(chosen & ((1u << lane) - 1))] = i;
      thread.barrier();
    }
  }

 private:
  static constexpr size_t kHead = kMostThreads / kWarp * sizeof(int32_t);

  static APPROX_GPU int bits_in(uint32_t word) {
#if defined(__CUDA_ARCH__)
    return __popc(word);
#else
    return std::popcount(word);
#endif
  }

  // How many scores come before the i-th.
  APPROX_GPU int64_t ahead_of(const double* score, int64_t i) const {
    const double own = score[i];
    const bool own_is_none = own != own;
    int64_t ahead = 0;
    for (int64_t j = 0; j < args.count; ++j) {
      const double other = score[j];
      const bool is_none = other != other;
      const bool equal = is_none == own_is_none && (is_none || other == own);
      const bool larger = is_none ? !own_is_none : other > own;
      ahead += larger || (equal && j < i) ? 1 : 0;
    }
    return ahead;
  }
};

}  // namespace approx
