// Which cores each of several runs has for itself.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace approx {

// A physical core, by those of its hardware threads that may be used ("CPUs" to the system).
struct Core {
  int package = 0;        // the socket that it sits on
  std::vector<int> cpus;  // rising, at least one
};

// "0-2,8": CPUs as the system writes them. `cpus` must rise.
std::string cpu_list(const std::vector<int>& cpus);

// Gives out cores. Knows no machine: what it is told of one, and who else is on it, are arguments.
class CorePool {
 public:
  // Something that is held as long as it lives, null where somebody else has it.
  using Hold = std::shared_ptr<void>;
  // Holds a core against other pools; the pool of a test has the machine to itself.
  using Claim = std::function<Hold(const Core&)>;

  CorePool() = default;  // has none to give
  // `jobs`: how many runs are at work at a time. `cpu_limit`: how much CPU time there is, in CPUs
  // (of a cgroup); cores beyond it would be nobody's own.
  CorePool(std::vector<Core> cores, int64_t jobs, std::optional<double> cpu_limit = std::nullopt,
           Claim claim = {});

  // The CPUs of some cores, given back when this is destroyed; not to outlive its pool.
  class Lease {
   public:
    Lease() = default;
    Lease(Lease&& other) noexcept { swap(other); }
    Lease& operator=(Lease&& other) noexcept {
      swap(other);
      return *this;
    }
    ~Lease();

    // Rising; empty: none of its own, all that there are.
    const std::vector<int>& cpus() const { return cpus_; }

    // The same as equal parts for so many ranks, core by core: where there is a core for each
    // thread no two of them share one. None where the lease is empty.
    std::vector<std::vector<int>> parts(int64_t ranks) const;

   private:
    friend class CorePool;
    void swap(Lease& other) noexcept;

    CorePool* pool_ = nullptr;
    std::vector<size_t> cores_;
    std::vector<Hold> holds_;
    std::vector<int> cpus_;
    int64_t threads_ = 0;
  };

  // For a run of so many threads: whole cores, so that no core's hardware threads are in two runs,
  // of one package where it has enough. As many cores as threads, but where that is more than each
  // job's share fewer with as many hardware threads. An empty lease where there are not so many
  // left: that run shares all of them with the others.
  Lease take(int64_t threads);

 private:
  struct Place {
    Core core;
    bool taken = false;
  };

  std::vector<Place> places_;
  int64_t share_ = 1;                    // cores that each of the jobs could have
  std::optional<int64_t> most_threads_;  // of all runs that have cores of their own
  int64_t threads_ = 0;                  // that they have now
  Claim claim_;
};

}  // namespace approx
