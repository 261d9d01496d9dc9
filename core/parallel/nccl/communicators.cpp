#include "core/parallel/nccl/communicators.h"

#include <c10/cuda/CUDAFunctions.h>

#include <algorithm>
#include <future>
#include <thread>
#include <utility>

#include "base/error.h"
#include "core/engine/engine.h"

namespace approx {

void check_nccl(ncclResult_t result, const char* what, ncclComm_t comm) {
  if (result == ncclSuccess) return;
  const char* detail = comm == nullptr ? "" : ncclGetLastError(comm);
  const auto message = fmt::format("{}: NCCL: {}{}{}", what, ncclGetErrorString(result),
                                   detail == nullptr || *detail == '\0' ? "" : ": ",
                                   detail == nullptr ? "" : detail);
  if (result == ncclRemoteError || result == ncclSystemError || result == ncclInternalError) {
    throw LostRank(message);
  }
  throw Error(ErrorKind::kDevice, message);
}

std::string nccl_version() {
  int version = 0;
  check_nccl(ncclGetVersion(&version), "its version");
  return fmt::format("{}.{}.{}", version / 10'000, version / 100 % 100, version % 100);
}

Communicators::Communicators(const ncclUniqueId& id, World world, c10::Device device,
                             std::chrono::milliseconds limit)
    : world_(world), device_(device), limit_(limit) {
  all_ = made("the communicator", [id, world] {
    ncclComm_t comm = nullptr;
    check_nccl(
        ncclCommInitRank(&comm, static_cast<int>(world.size), id, static_cast<int>(world.rank)),
        "a communicator of all ranks");
    return comm;
  });
}

// By a thread of its own, which is left behind where others do not come: to make one is to wait for
// all ranks without an end.
ncclComm_t Communicators::made(const char* what, std::function<ncclComm_t()> make) {
  std::packaged_task<ncclComm_t()> task([device = device_, make = std::move(make)] {
    c10::cuda::set_device(device.index());
    return make();
  });
  auto done = task.get_future();
  std::thread(std::move(task)).detach();
  if (done.wait_for(limit_) != std::future_status::ready) {
    throw LostRank(
        fmt::format("{} of the GPUs of all {} ranks was not made within {:.3g} s "
                    "(--rank-timeout)",
                    what, world_.size, std::chrono::duration<double>(limit_).count()));
  }
  auto* comm = done.get();
  const std::lock_guard lock(mutex_);
  if (comm != nullptr) every_.push_back(comm);
  return comm;
}

const NcclGroup& Communicators::group(const std::vector<int64_t>& ranks) {
  const auto known = groups_.find(ranks);
  if (known != groups_.end()) return known->second;
  const bool is_in = std::ranges::count(ranks, world_.rank) > 0,
             is_first = world_.rank == ranks.front();
  const auto split = [&](bool takes_part, int64_t place) {
    return made("a group", [all = all_, takes_part, place] {
      ncclComm_t part = nullptr;
      check_nccl(ncclCommSplit(all, takes_part ? 0 : NCCL_SPLIT_NOCOLOR, static_cast<int>(place),
                               &part, nullptr),
                 "a communicator of some ranks", all);
      return part;
    });
  };
  NcclGroup group;
  group.inner = split(is_in, world_.rank);
  // The first of them is the first there too.
  group.outer = split(!is_in || is_first, is_first ? 0 : world_.rank + 1);
  return groups_.emplace(ranks, group).first->second;
}

std::string Communicators::fault() const {
  const std::lock_guard lock(mutex_);
  for (auto* comm : every_) {
    ncclResult_t found = ncclSuccess;
    if (ncclCommGetAsyncError(comm, &found) != ncclSuccess) found = ncclInternalError;
    if (found == ncclSuccess || found == ncclInProgress) continue;
    const char* detail = ncclGetLastError(comm);
    return fmt::format("the GPUs of the ranks do not reach each other any more: NCCL: {}{}{}",
                       ncclGetErrorString(found), detail == nullptr ? "" : ": ",
                       detail == nullptr ? "" : detail);
  }
  return "";
}

void Communicators::abort() {
  std::vector<ncclComm_t> every;
  {
    const std::lock_guard lock(mutex_);
    every.swap(every_);
  }
  for (auto* comm : every) ncclCommAbort(comm);
}

}  // namespace approx
