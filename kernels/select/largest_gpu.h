// Finds the largest of some scores, on a GPU.
#pragma once

#include "kernels/gpu/kernel.h"
#include "kernels/select/largest.h"

namespace approx {

// One block has the keys of all scores in its shared memory, as integers of the same order, and
// finds the k-th largest. Then each warp goes through a run of scores and writes which of them are
// among the k. So nothing is sorted, and the indices ascend.
struct LargestScores {
  static constexpr int kMostThreads = 512;
  LargestArgs args;

  constexpr int count() const { return static_cast<int>(args.count); }
  Grid grid() const {
    const int64_t threads = blocks_of(args.count, kWarp) * kWarp;
    return {.x = args.k == 0 ? 0 : 1,
            .threads = static_cast<int>(threads < kMostThreads ? threads : kMostThreads),
            .shared = kKeys + static_cast<size_t>(args.count) * sizeof(uint64_t)};
  }

  template <typename Thread>
  APPROX_GPU void operator()(Thread& thread) const {
    auto* key = thread.template shared<uint64_t>(kKeys);
    auto* found = thread.template shared<Threshold>();
    APPROX_UNROLL(4)
    for (int i = thread.index(); i < count(); i += thread.threads()) {
      key[i] = key_of(args.score[i]);
    }
    if (count() <= kFew) {
      thread.barrier();
      find_by_counting(thread.index(), key, found);
      thread.barrier();
    } else {
      find_by_digits(thread, key, found);
    }
    const Threshold threshold = *found;
    write(thread, key, threshold);
  }

 private:
  // Chosen keys are those above `key`, and the first `first` (by index) of those equal to it.
  // Before all digits are found, the others are zero. Then `first` of the `of` remaining keys are
  // chosen.
  struct Threshold {
    uint64_t key;
    int32_t first, of;
  };
  struct Tally {
    int32_t above, at;
  };
  struct Votes {
    uint32_t above, at;  // of the warp's lanes
  };

  // An estimate: for this few keys, counting takes less time than the barriers of digits.
  static constexpr int kFew = 128;
  static constexpr int kDigitBits = 8, kDigits = 64 / kDigitBits, kValues = 1 << kDigitBits;
  static constexpr int kValuesOfLane = kValues / kWarp;

  static constexpr size_t kTallies = sizeof(Threshold);
  static constexpr size_t kBins = kTallies + kMostThreads / kWarp * sizeof(Tally);
  static constexpr size_t kKeys = kBins + kDigits * kValues * sizeof(int32_t);

  // A key that is larger where the score is. NaNs have the largest key; both zeros have equal keys.
  static APPROX_GPU uint64_t key_of(double score) {
    if (score != score) return ~uint64_t{0};
    constexpr uint64_t kSign = uint64_t{1} << 63;
    const uint64_t bits = score == 0 ? 0 : bits_of(score);
    return (bits & kSign) != 0 ? ~bits : bits | kSign;
  }

  // Each thread counts for its own score how many come before it. There is a thread for each score.
  APPROX_GPU void find_by_counting(int i, const uint64_t* key, Threshold* found) const {
    if (i >= count()) return;
    const uint64_t own = key[i];
    int32_t above = 0, before = 0;  // larger keys, equal keys
    APPROX_UNROLL(8)
    for (int j = 0; j < count(); ++j) {
      above += key[j] > own ? 1 : 0;
      before += key[j] == own && j < i ? 1 : 0;
    }
    if (above + before + 1 == args.k) *found = {own, before + 1, before + 1};
  }

  // Finds the digits of the k-th largest key, from the highest on. Keys with its digits so far
  // remain. The counts of their next digit give the digit of the k-th largest. Once all remaining
  // keys are chosen, further digits give no information. Each digit has bins of its own, since
  // emptying them between two digits would need a barrier. Counting is fast even if all keys have
  // one value: lanes of a warp that add one to a bin do it at once.
  template <typename Thread>
  APPROX_GPU void find_by_digits(Thread& thread, const uint64_t* key, Threshold* found) const {
    auto* bins = thread.template shared<int32_t>(kBins);
    for (int i = thread.index(); i < kDigits * kValues; i += thread.threads()) bins[i] = 0;
    thread.barrier();
    Threshold now{0, static_cast<int32_t>(args.k), 0};
    for (int shift = 64 - kDigitBits; shift >= 0; shift -= kDigitBits, bins += kValues) {
      APPROX_UNROLL(4)
      for (int i = thread.index(); i < count(); i += thread.threads()) {
        const bool is_left = (key[i] ^ now.key) >> shift >> kDigitBits == 0;
        const auto digit = static_cast<int>(key[i] >> shift & (kValues - 1));
        if (is_left) thread.add(&bins[bin_of(digit)], 1);
      }
      thread.barrier();
      if (thread.index() < kWarp) narrow(thread, bins, shift, now, found);
      thread.barrier();
      now = *found;
      if (now.first == now.of) return;
    }
  }

  // Each lane has neighbouring values; the lanes' bins lie side by side.
  static APPROX_GPU int bin_of(int value) {
    return value % kValuesOfLane * kWarp + value / kValuesOfLane;
  }

  // Called by one warp. Finds the next digit of the k-th largest key, which is the `now.first`-th
  // of all remaining keys.
  template <typename Thread>
  APPROX_GPU void narrow(Thread& thread, const int32_t* bins, int shift, const Threshold& now,
                         Threshold* found) const {
    const int lane = thread.index();
    int32_t own[kValuesOfLane], all_own = 0;
    for (int j = 0; j < kValuesOfLane; ++j) {
      own[j] = bins[j * kWarp + lane];
      all_own += own[j];
    }
    int32_t above = all_own;
    for (int lanes = 1; lanes < kWarp; lanes *= 2) {
      const int32_t more = thread.shuffle_down(above, lanes);
      if (lane + lanes < kWarp) above += more;
    }
    above -= all_own;  // the counts of higher lanes
    for (int j = kValuesOfLane - 1; j >= 0; --j) {
      if (above < now.first && now.first <= above + own[j]) {
        const auto digit = static_cast<uint64_t>(lane * kValuesOfLane + j);
        *found = {now.key | digit << shift, now.first - above, own[j]};
      }
      above += own[j];
    }
  }

  template <typename Thread>
  APPROX_GPU void write(Thread& thread, const uint64_t* key, const Threshold& threshold) const {
    auto* of_warps = thread.template shared<Tally>(kTallies);
    const int warp = thread.index() / kWarp, lane = thread.index() % kWarp;
    const int run = (count() + thread.threads() - 1) / thread.threads() * kWarp;
    const int begin = warp * run + lane, end = begin + run;
    Tally own{0, 0};
    for (int i = begin; i < end; i += kWarp) add(own, votes(thread, key, threshold, i));
    if (lane == 0) of_warps[warp] = own;
    thread.barrier();
    Tally before{0, 0};
    for (int other = 0; other < warp; ++other) {
      before.above += of_warps[other].above;
      before.at += of_warps[other].at;
    }
    const uint32_t self = 1u << lane;
    for (int i = begin; i < end; i += kWarp) {
      const Votes all = votes(thread, key, threshold, i);
      Tally mine = before;
      add(mine, {all.above & (self - 1), all.at & (self - 1)});
      const bool is_among_first = mine.at < threshold.first;
      if ((all.above & self) != 0 || ((all.at & self) != 0 && is_among_first)) {
        args.index[mine.above + (is_among_first ? mine.at : threshold.first)] = i;
      }
      add(before, all);
    }
  }

  template <typename Thread>
  APPROX_GPU Votes votes(Thread& thread, const uint64_t* key, const Threshold& threshold,
                         int i) const {
    const bool is_one = i < count();
    return {thread.ballot(is_one && key[i] > threshold.key),
            thread.ballot(is_one && key[i] == threshold.key)};
  }
  static APPROX_GPU void add(Tally& to, const Votes& votes) {
    to.above += bits_set(votes.above);
    to.at += bits_set(votes.at);
  }
};

}  // namespace approx
