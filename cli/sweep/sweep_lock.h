// Which sweeps are at work on an experiment of a database.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "results/store/run_lock.h"

namespace approx {

// Tells other processes, for the life of the object, that a sweep of `experiment` is at work on the
// database. Any number of sweeps may hold one. Each takes the first free lock of DB.runs/sweeps/;
// the lock is freed when its process ends for any reason.
class SweepLock {
 public:
  // Throws Error(kInternal) where no lock can be made.
  SweepLock(const std::string& db, const std::string& experiment);

  // Whether another sweep of the experiment is at work. Two that began at the same moment see each
  // other.
  bool others() const;

  // The processes of this machine that are at work on the database, on one experiment or ("") on
  // any.
  static std::vector<pid_t> holders(const std::string& db, const std::string& experiment);

 private:
  std::string lock_name(int64_t number) const;

  std::string folder_, experiment_;
  int64_t number_ = 0;
  std::optional<RunLock> lock_;
};

}  // namespace approx
