// The communicators of one process: that of all ranks, and those of some of them.
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

// What an NCCL function returned, as an exception: LostRank where another rank may be why, else
// Error(kDevice). `comm`: whose last words are said too; null: none.
void check_nccl(ncclResult_t result, const char* what, ncclComm_t comm = nullptr);

// "2.28.9"
std::string nccl_version();

// Some of the ranks, at least two and not all, and what a sum over them needs.
struct NcclGroup {
  ncclComm_t inner = nullptr;  // they; null for all others
  ncclComm_t outer = nullptr;  // the first of them, which tells the others; null for the rest
};

class Communicators {
 public:
  // Called by all ranks, with rank 0's `id`. Nobody waits longer than the limit, here and for a
  // group: throws LostRank then.
  Communicators(const ncclUniqueId& id, World world, c10::Device device,
                std::chrono::milliseconds limit);

  ncclComm_t all() const { return all_; }

  // That of so many ranks, ascending; made when it is asked for the first time, which all ranks do
  // at once, when nothing else is under way between them.
  const NcclGroup& group(const std::vector<int64_t>& ranks);
  bool has_group(const std::vector<int64_t>& ranks) const { return groups_.contains(ranks); }

  // The two below may be called by any thread. What NCCL says is wrong with one of them; "":
  // nothing.
  std::string fault() const;
  // Ends what is under way, on the device too, and is all that may be done with them then.
  void abort();

 private:
  ncclComm_t made(const char* what, std::function<ncclComm_t()> make);

  const World world_;
  const c10::Device device_;
  const std::chrono::milliseconds limit_;
  ncclComm_t all_ = nullptr;
  std::map<std::vector<int64_t>, NcclGroup> groups_;
  mutable std::mutex mutex_;
  std::vector<ncclComm_t> every_;  // none once they were aborted
};

}  // namespace approx
