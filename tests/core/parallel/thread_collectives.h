// Ranks that are threads of one process.
#pragma once

#include <ATen/ATen.h>

#include <algorithm>
#include <barrier>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "core/parallel/collectives.h"

namespace approx {

class ThreadCollectives final : public Collectives {
 public:
  // What they have in common.
  struct Job {
    explicit Job(int64_t ranks) : given(static_cast<size_t>(ranks)), barrier(ranks) {}
    std::vector<at::Tensor> given;  // by rank
    std::barrier<> barrier;
  };

  ThreadCollectives(std::shared_ptr<Job> job, World world)
      : Collectives(world), job_(std::move(job)) {}

  void close() override { exchanged(at::zeros({1})); }

  Json description() const override { return {{"library", "threads"}}; }

  int64_t sums = 0, gathers = 0;  // that were begun

 private:
  std::unique_ptr<Pending> do_start_sums(std::vector<Sum> of) override {
    ++sums;
    return later([this, of] {
      for (const auto& [values, ranks] : of) {
        const auto all = exchanged(values);
        auto total = at::zeros_like(values);
        for (size_t rank = 0; rank < all.size(); ++rank) {
          const bool counts = ranks.empty() || std::ranges::count(ranks, rank) > 0;
          if (counts) total += all[rank];
        }
        values.copy_(total);
      }
    });
  }

  std::unique_ptr<Pending> do_start_gather(const at::Tensor& own, const at::Tensor& all) override {
    ++gathers;
    return later([this, own, all] { all.copy_(at::stack(exchanged(own))); });
  }

  void do_broadcast(const at::Tensor& values) override { values.copy_(exchanged(values)[0]); }

  // Done when it is waited for: threads wait for each other in one order.
  class Later final : public Pending {
   public:
    explicit Later(std::function<void()> work) : work_(std::move(work)) {}
    void wait() override { work_(); }

   private:
    std::function<void()> work_;
  };

  static std::unique_ptr<Pending> later(std::function<void()> work) {
    return std::make_unique<Later>(std::move(work));
  }

  std::vector<at::Tensor> exchanged(const at::Tensor& own) {
    job_->given[static_cast<size_t>(world().rank)] = own.clone();
    job_->barrier.arrive_and_wait();
    auto all = job_->given;
    job_->barrier.arrive_and_wait();
    return all;
  }

  std::shared_ptr<Job> job_;
};

// Does `work` as each of `ranks` ranks. An exception of one would leave the others waiting: it ends
// the test program.
inline void as_ranks(int64_t ranks,
                     const std::function<void(std::shared_ptr<ThreadCollectives>)>& work) {
  const auto job = std::make_shared<ThreadCollectives::Job>(ranks);
  std::vector<std::thread> threads;
  for (int64_t rank = 0; rank < ranks; ++rank) {
    threads.emplace_back([&work, job, rank, ranks] {
      work(std::make_shared<ThreadCollectives>(job, World{.rank = rank, .size = ranks}));
    });
  }
  for (auto& thread : threads) thread.join();
}

}  // namespace approx
