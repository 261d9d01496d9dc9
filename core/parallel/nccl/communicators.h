// The NCCL communicators of one process: one of all ranks, and groups of some ranks.
#pragma once

#include <c10/core/Device.h>
#include <nccl.h>

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "core/parallel/world.h"

namespace approx {

// Throws if an NCCL function did not succeed: LostRank if another rank may be the reason, else
// Error(kDevice). The message includes the last error of `comm`; null: none.
void check_nccl(ncclResult_t result, const char* what, ncclComm_t comm = nullptr);

// "2.28.9"
std::string nccl_version();

// Some of the ranks, at least two and not all, with the communicators of a sum over them.
struct NcclGroup {
  ncclComm_t inner = nullptr;  // these ranks; null on all others
  ncclComm_t outer = nullptr;  // their first, which sends the sum to all others; null on the rest
};

class Communicators {
 public:
  // Call it on all ranks, with rank 0's `id`. Throws LostRank if a rank waits longer than the
  // limit, here or in group().
  Communicators(const ncclUniqueId& id, World world, c10::Device device,
                std::chrono::milliseconds limit);

  ncclComm_t all() const { return all_; }

  // The group of these ranks, ascending. The first call creates it. All ranks must make that call
  // together, with no other exchange in progress.
  const NcclGroup& group(const std::vector<int64_t>& ranks);
  bool has_group(const std::vector<int64_t>& ranks) const { return groups_.contains(ranks); }

  // The next two functions may be called by any thread. The error that NCCL reports for one of the
  // communicators; "": none.
  std::string fault() const;
  // Ends all work in progress, on the device too. The communicators cannot be used afterwards.
  void abort();

 private:
  ncclComm_t made(const char* what, std::function<ncclComm_t()> make);

  const World world_;
  const c10::Device device_;
  const std::chrono::milliseconds limit_;
  ncclComm_t all_ = nullptr;
  std::map<std::vector<int64_t>, NcclGroup> groups_;
  mutable std::mutex mutex_;
  std::vector<ncclComm_t> every_;  // empty after abort()
};

}  // namespace approx
