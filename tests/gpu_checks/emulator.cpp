#include "tests/gpu_checks/emulator.h"

#include <fmt/format.h>
#include <ucontext.h>

#include <algorithm>
#include <numeric>
#include <random>

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#define APPROX_ADDRESS_SANITIZER 1
#else
#define APPROX_ADDRESS_SANITIZER 0
#endif

namespace approx {
namespace {

constexpr size_t kStack = size_t{128} * 1024;
constexpr size_t kSharedZone = 1024;
constexpr unsigned char kUnwritten = 0xFF;

// What a thread waits for.
enum class State { kReady, kAtBarrier, kAtShuffle, kAtBallot, kTogether, kDone };

struct Fibre {
  ucontext_t context{};
  std::unique_ptr<unsigned char[]> stack;
  State state = State::kReady;
  uint64_t offered = 0, seen = 0;  // words that lanes exchange
  void* mine = nullptr;            // what a lane brings to what all do together
  WarpWork work = nullptr;
  void* fake_stack = nullptr;  // of AddressSanitizer
  CpuThread thread;
};

}  // namespace

// The threads of one block, as fibres that give way to each other where they wait.
class EmulatedBlock {
 public:
  EmulatedBlock(const Grid& grid, Order order, const std::function<void(CpuThread&)>& body)
      : grid_(grid), order_(order), body_(body), fibres_(static_cast<size_t>(grid.threads)) {
    // (Not set to zero: most of a stack is never touched.)
    for (auto& fibre : fibres_) {
      fibre.stack = std::make_unique_for_overwrite<unsigned char[]>(kStack);
    }
    turns_.resize(fibres_.size());
    std::iota(turns_.begin(), turns_.end(), size_t{0});
    if (order == Order::kBackwards) std::reverse(turns_.begin(), turns_.end());
  }

  std::string run(int64_t x, int64_t y) {
    shared_.assign(grid_.shared + 2 * kSharedZone, kUnwritten);
    forbid_zones(true);
    for (size_t i = 0; i < fibres_.size(); ++i) begin(fibres_[i], static_cast<int>(i), x, y);
    while (!all(0, fibres_.size(), State::kDone)) {
      const bool moved = order_ == Order::kShuffled ? turn_of_all() : turn_warp_by_warp();
      if (!release_block() && !moved) complain(who_waits());
      if (!wrong_.empty()) break;
    }
    forbid_zones(false);
    if (!wrong_.empty()) return fmt::format("block {}, {}: {}", x, y, wrong_);
    const auto untouched = [](unsigned char byte) { return byte == kUnwritten; };
    const auto zone = static_cast<std::ptrdiff_t>(kSharedZone);
    if (!std::all_of(shared_.begin(), shared_.begin() + zone, untouched) ||
        !std::all_of(shared_.end() - zone, shared_.end(), untouched)) {
      return fmt::format("block {}, {}: written outside its {} bytes of shared memory", x, y,
                         grid_.shared);
    }
    return {};
  }

  // Gives way until the others that it needs are there.
  void wait(CpuThread& thread, State state, uint64_t offered) {
    Fibre& fibre = fibres_[static_cast<size_t>(thread.index_)];
    fibre.state = state;
    fibre.offered = offered;
    yield(fibre, /*for_good=*/false);
  }

  void wait_for_all_lanes(CpuThread& thread, void* mine, WarpWork work) {
    Fibre& fibre = fibres_[static_cast<size_t>(thread.index_)];
    fibre.mine = mine;
    fibre.work = work;
    wait(thread, State::kTogether, 0);
  }

  void complain(const std::string& what) {
    if (wrong_.empty()) wrong_ = what;
  }

  // Of a count in shared memory: that somebody has set it, so that it is not as the block began.
  void check_count(const int32_t* count) {
    const auto* at = reinterpret_cast<const unsigned char*>(count);
    const unsigned char* begin = shared_.data() + kSharedZone;
    if (at < begin || at + sizeof *count > begin + grid_.shared) {
      complain("a count is not in shared memory");
    } else if (std::all_of(at, at + sizeof *count, [](auto byte) { return byte == kUnwritten; })) {
      complain("what nobody has set is counted on");
    }
  }

  // What that lane of the thread's warp offered.
  uint64_t seen(const CpuThread& thread, int lane) const {
    const int first = thread.index_ / kWarp * kWarp;
    return fibres_[static_cast<size_t>(first) + static_cast<size_t>(lane)].seen;
  }
  // Whether any thread said so at the last barrier.
  bool any() const { return any_; }

 private:
  void begin(Fibre& fibre, int index, int64_t x, int64_t y) {
    CpuThread& thread = fibre.thread;
    thread.block_ = this;
    thread.shared_ = shared_.data() + kSharedZone;
    thread.block_x_ = x, thread.block_y_ = y, thread.blocks_ = grid_.x;
    thread.index_ = index, thread.threads_ = grid_.threads;
    thread.copies_.assign(1, {});
    thread.copies_at_once_ =
        order_ == Order::kBackwards || (order_ == Order::kShuffled && random_() % 2 == 0);
    fibre.state = State::kReady;
    fibre.fake_stack = nullptr;
    getcontext(&fibre.context);
    fibre.context.uc_stack.ss_sp = fibre.stack.get();
    fibre.context.uc_stack.ss_size = kStack;
    fibre.context.uc_link = nullptr;
    // makecontext passes nothing but ints.
    const auto address = reinterpret_cast<uintptr_t>(&fibre);
    makecontext(&fibre.context, reinterpret_cast<void (*)()>(&EmulatedBlock::enter), 2,
                static_cast<unsigned>(address >> 32), static_cast<unsigned>(address));
  }

  static void enter(unsigned high, unsigned low) {
    const auto address = (uintptr_t{high} << 32) | low;
    auto& fibre = *reinterpret_cast<Fibre*>(address);  // NOLINT(performance-no-int-to-ptr)
    EmulatedBlock& block = *fibre.thread.block_;
#if APPROX_ADDRESS_SANITIZER
    __sanitizer_finish_switch_fiber(nullptr, &block.main_stack_, &block.main_stack_size_);
#endif
    block.body_(fibre.thread);
    fibre.state = State::kDone;
    block.yield(fibre, /*for_good=*/true);
  }

  void resume(Fibre& fibre) {
#if APPROX_ADDRESS_SANITIZER
    void* own = nullptr;
    __sanitizer_start_switch_fiber(&own, fibre.stack.get(), kStack);
#endif
    swapcontext(&main_, &fibre.context);
#if APPROX_ADDRESS_SANITIZER
    __sanitizer_finish_switch_fiber(own, nullptr, nullptr);
#endif
  }

  void yield(Fibre& fibre, [[maybe_unused]] bool for_good) {
#if APPROX_ADDRESS_SANITIZER
    __sanitizer_start_switch_fiber(for_good ? nullptr : &fibre.fake_stack, main_stack_,
                                   main_stack_size_);
#endif
    swapcontext(&fibre.context, &main_);
#if APPROX_ADDRESS_SANITIZER
    __sanitizer_finish_switch_fiber(fibre.fake_stack, nullptr, nullptr);
#endif
  }

  bool all(size_t begin, size_t end, State state) const {
    return std::all_of(fibres_.begin() + static_cast<std::ptrdiff_t>(begin),
                       fibres_.begin() + static_cast<std::ptrdiff_t>(end),
                       [&](const Fibre& f) { return f.state == state; });
  }

  // Each thread goes on until it waits, the warps side by side. Returns whether any did.
  bool turn_of_all() {
    std::shuffle(turns_.begin(), turns_.end(), random_);
    bool moved = false;
    for (const size_t turn : turns_) moved = go_on(fibres_[turn]) || moved;
    for (size_t warp = 0; warp < fibres_.size(); warp += kWarp) release_warp(warp);
    return moved;
  }

  // One warp runs ahead of the others, as far as it can without them.
  bool turn_warp_by_warp() {
    bool moved = false;
    for (size_t i = 0; i < turns_.size(); i += kWarp) {
      do {
        for (size_t lane = 0; lane < kWarp; ++lane) {
          moved = go_on(fibres_[turns_[i + lane]]) || moved;
        }
      } while (release_warp(turns_[i] / kWarp * kWarp));
    }
    return moved;
  }

  bool go_on(Fibre& fibre) {
    if (fibre.state != State::kReady) return false;
    resume(fibre);
    return true;
  }

  // Lets go on who all are where they wait for each other.
  bool release_warp(size_t first) {
    for (const State state : {State::kAtShuffle, State::kAtBallot, State::kTogether}) {
      if (!all(first, first + kWarp, state)) continue;
      if (state == State::kTogether) work_together(first);
      let_go(first, first + kWarp);
      return true;
    }
    return false;
  }
  void work_together(size_t first) {
    WarpLanes lanes;
    for (size_t lane = 0; lane < kWarp; ++lane) {
      const Fibre& fibre = fibres_[first + lane];
      if (fibre.work != fibres_[first].work) return complain("lanes of a warp do unlike things");
      lanes[lane] = fibre.mine;
    }
    const char* wrong = fibres_[first].work(lanes);
    if (wrong != nullptr) complain(wrong);
  }
  bool release_block() {
    if (!all(0, fibres_.size(), State::kAtBarrier)) return false;
    any_ = std::any_of(fibres_.begin(), fibres_.end(),
                       [](const Fibre& fibre) { return fibre.offered != 0; });
    let_go(0, fibres_.size());
    return true;
  }

  void let_go(size_t begin, size_t end) {
    for (size_t i = begin; i < end; ++i) {
      fibres_[i].seen = fibres_[i].offered;
      fibres_[i].state = State::kReady;
    }
  }

  std::string who_waits() const {
    const auto count = [&](State state) {
      return std::count_if(fibres_.begin(), fibres_.end(),
                           [&](const Fibre& f) { return f.state == state; });
    };
    return fmt::format(
        "{} threads wait at a barrier, {} at a shuffle, {} at a ballot, {} for the lanes of a "
        "warp, {} have ended",
        count(State::kAtBarrier), count(State::kAtShuffle), count(State::kAtBallot),
        count(State::kTogether), count(State::kDone));
  }

  void forbid_zones([[maybe_unused]] bool forbidden) {
#if APPROX_ADDRESS_SANITIZER
    for (unsigned char* zone : {shared_.data(), shared_.data() + kSharedZone + grid_.shared}) {
      if (forbidden) {
        ASAN_POISON_MEMORY_REGION(zone, kSharedZone);
      } else {
        ASAN_UNPOISON_MEMORY_REGION(zone, kSharedZone);
      }
    }
#endif
  }

  const Grid grid_;
  const Order order_;
  const std::function<void(CpuThread&)>& body_;
  std::vector<Fibre> fibres_;
  std::vector<size_t> turns_;
  std::vector<unsigned char> shared_;
  bool any_ = false;
  std::string wrong_;
  std::mt19937 random_{12345};
  ucontext_t main_{};
  const void* main_stack_ = nullptr;
  size_t main_stack_size_ = 0;
};

bool CpuThread::any(bool mine) {
  block_->wait(*this, State::kAtBarrier, mine ? 1 : 0);
  return block_->any();
}

uint64_t CpuThread::exchange(uint64_t word, int lane) {
  block_->wait(*this, State::kAtShuffle, word);
  return block_->seen(*this, lane);
}

void CpuThread::together(void* mine, WarpWork work) {
  block_->wait_for_all_lanes(*this, mine, work);
}

void CpuThread::add(int32_t* count, int32_t value) {
  block_->check_count(count);
  *count += value;
}

bool CpuThread::last_to_come(uint32_t* arrivals, uint32_t blocks) {
  barrier();
  bool is_last = false;
  if (index_ == 0) {
    if (*arrivals >= blocks) complain("more blocks come than are waited for");
    is_last = *arrivals + 1 == blocks;
    *arrivals = is_last ? 0 : *arrivals + 1;
  }
  return any(is_last);
}

void CpuThread::complain(const char* what) { block_->complain(what); }

uint32_t CpuThread::ballot(bool mine) {
  block_->wait(*this, State::kAtBallot, mine ? 1 : 0);
  uint32_t bits = 0;
  for (int lane = 0; lane < kWarp; ++lane) {
    if (block_->seen(*this, lane) != 0) bits |= uint32_t{1} << lane;
  }
  return bits;
}

std::string run_grid(const Grid& grid, int most_threads, Order order,
                     const std::function<void(CpuThread&)>& body) {
  constexpr int64_t kMostAlongX = 2147483647, kMostAlongY = 65535;
  constexpr size_t kMostShared = size_t{48} * 1024;
  if (grid.x == 0 || grid.y == 0) return {};
  if (grid.x < 0 || grid.x > kMostAlongX || grid.y < 0 || grid.y > kMostAlongY ||
      grid.threads < kWarp || grid.threads > most_threads || grid.threads % kWarp != 0 ||
      grid.shared > kMostShared) {
    return fmt::format("a grid of {} x {} blocks of {} threads and {} bytes", grid.x, grid.y,
                       grid.threads, grid.shared);
  }
  EmulatedBlock block(grid, order, body);
  std::vector<int64_t> blocks(static_cast<size_t>(grid.x * grid.y));
  std::iota(blocks.begin(), blocks.end(), int64_t{0});
  if (order == Order::kBackwards) std::reverse(blocks.begin(), blocks.end());
  if (order == Order::kShuffled) {
    static std::mt19937 random(54321);
    std::shuffle(blocks.begin(), blocks.end(), random);
  }
  for (const int64_t at : blocks) {
    std::string wrong = block.run(at % grid.x, at / grid.x);
    if (!wrong.empty()) return wrong;
  }
  return {};
}

}  // namespace approx
