// Assigns cores to runs that work at the same time.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace approx {

// A physical core with its usable hardware threads ("CPUs" to the system).
struct Core {
  int package = 0;        // the socket that it sits on
  std::vector<int> cpus;  // rising, at least one
};

// A CPU list as the system writes it: "0-2,8". `cpus` must rise.
std::string cpu_list(const std::vector<int>& cpus);

// Assigns cores. The pool does not read the machine: the cores and the claims of others are
// arguments.
class CorePool {
 public:
  // A claim that lasts as long as the pointer; null where somebody else has the core.
  using Hold = std::shared_ptr<void>;
  // Claims a core against other pools. A test's pool has the machine to itself.
  using Claim = std::function<Hold(const Core&)>;

  CorePool() = default;  // has no cores to assign
  // `jobs`: number of runs at the same time. `cpu_limit`: available CPU time in CPUs (of a cgroup);
  // the pool assigns no cores beyond it.
  CorePool(std::vector<Core> cores, int64_t jobs, std::optional<double> cpu_limit = std::nullopt,
           Claim claim = {});

  // The CPUs of some cores, given back on destruction. It must not outlive its pool.
  class Lease {
   public:
    Lease() = default;
    Lease(Lease&& other) noexcept { swap(other); }
    Lease& operator=(Lease&& other) noexcept {
      swap(other);
      return *this;
    }
    ~Lease();

    // Rising. Empty: the run has no cores of its own and uses all.
    const std::vector<int>& cpus() const { return cpus_; }

    // The CPUs in equal parts for `ranks` ranks, core by core. If there is a core for each thread,
    // no two threads share one. None where the lease is empty.
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

  // Leases whole cores for a run of `threads` threads, so that no core is in two runs. They are of
  // one package if it has enough. There are as many cores as threads; if that exceeds the job's
  // share, there are fewer cores with as many hardware threads. The lease is empty if too few are
  // left: the run then shares all cores with the others.
  Lease take(int64_t threads);

 private:
  struct Place {
    Core core;
    bool taken = false;
  };

  std::vector<Place> places_;
  int64_t share_ = 1;                    // cores per job if all get equally many
  std::optional<int64_t> most_threads_;  // over all runs that have cores of their own
  int64_t threads_ = 0;                  // how many they have now
  Claim claim_;
};

}  // namespace approx
