// Collective operations of processes that train one network together. The processes are ranks of
// one job, and all of them make these calls in one order.
#pragma once

#include <ATen/core/Tensor.h>
#include <c10/core/Device.h>

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/params.h"
#include "core/parallel/world.h"

namespace approx {

class Collectives {
 public:
  // An exchange in progress. Do not touch its tensors before wait() has returned. An error of
  // wait() is an Error(kInternal) with the ranks that did not come within the limit, or with the
  // failure. An exchange that is destroyed without wait() is completed all the same.
  class Pending {
   public:
    virtual ~Pending() = default;
    virtual void wait() = 0;
  };

  virtual ~Collectives() = default;
  Collectives(const Collectives&) = delete;
  Collectives& operator=(const Collectives&) = delete;

  World world() const { return world_; }

  // Whether tensors on this process's device are exchanged too, as work of that device. If so,
  // wait() makes later work on the current stream wait for the exchange, but not the host. A
  // training step must then not ask the host for anything (core/train/bucketed_reduction.h).
  // Tensors on the host are exchanged between hosts in either case.
  virtual bool is_of_device() const { return false; }

  // Call it after each training step, and when the host has read a result of the device, before it
  // uses the result. Throws LostRank (core/engine/engine.h) if this rank's device or another one
  // did not go on within the limit. It does not wait. It has nothing to check if the host waits for
  // each exchange.
  virtual void watch() {}

  // A sum over some ranks. Each entry of `values` becomes its sum, on all ranks, with equal bits.
  // The bits depend on the number of ranks and not on their timing. Contiguous; float, double or
  // int64.
  struct Sum {
    at::Tensor values;           // not read on ranks that are not summed
    std::vector<int64_t> ranks;  // ascending; empty: all
  };
  // Starts several sums at once.
  [[nodiscard]] std::unique_ptr<Pending> start_sums(std::vector<Sum> sums);
  [[nodiscard]] std::unique_ptr<Pending> start_sum(const at::Tensor& values);  // over all ranks

  // Gathers `own` [...] of every rank into `all` [size, ...], by rank. Contiguous, of one type and
  // one size on all ranks; int32 too.
  [[nodiscard]] std::unique_ptr<Pending> start_gather(const at::Tensor& own, const at::Tensor& all);

  // Copies `values` of rank 0 into `values` of all other ranks.
  void broadcast(const at::Tensor& values);

  // Bytes that a rank has sent in all exchanges started so far. It is the mean over the ranks,
  // counted as bytes_of_sum() and the others say.
  double bytes_sent() const { return bytes_sent_; }
  // The counter of bytes_sent(), for steps that are repeated without a call.
  double* sent_count() { return &bytes_sent_; }

  // Ends the exchanges. All ranks call it after their last exchange. If an object is destroyed
  // without it, the other ranks wait until their limit.
  virtual void close() = 0;

  // The libraries in use: {"library": "Open MPI v4.1.4", ...}. Equal on all ranks.
  virtual Json description() const = 0;

  void sum(const at::Tensor& values) { start_sum(values)->wait(); }
  at::Tensor gathered(const at::Tensor& own);  // [size, ...]

  double mean(double value);        // over all ranks
  bool any(bool value);             // whether it is true on any rank
  int64_t of_first(int64_t value);  // the value of rank 0
  std::string of_first(const std::string& text);
  std::vector<std::string> of_all(const std::string& text);  // by rank

  // Checks that all ranks have equal texts. Throws Error(kUsage) that names the first rank that
  // differs from rank 0: "rank 2 has another library than rank 0 (0f3a..., b811...): <advice>".
  // `what` and `advice` are words for people. `text` is compared, and shown if it is short.
  void require_same(std::string_view what, const std::string& text, std::string_view advice);

 protected:
  explicit Collectives(World world) : world_(world) {}

 private:
  virtual std::unique_ptr<Pending> do_start_sums(std::vector<Sum> sums) = 0;
  virtual std::unique_ptr<Pending> do_start_gather(const at::Tensor& own,
                                                   const at::Tensor& all) = 0;
  virtual void do_broadcast(const at::Tensor& values) = 0;

  World world_;
  double bytes_sent_ = 0;
};

// The bytes that a rank sends, as the mean over `ranks` ranks, for a tensor of `bytes` bytes. The
// algorithm sends no byte twice, as a ring does. Headers of messages do not count.
// - A sum over m ranks sends 2 (m - 1) B among the m ranks, and (ranks - m) B to the others.
// - A gather of B bytes from each rank sends (ranks - 1) B from every rank.
// - A broadcast of B bytes sends (ranks - 1) B in all.
double bytes_of_sum(int64_t bytes, int64_t over, int64_t ranks);
double bytes_of_gather(int64_t bytes, int64_t ranks);
double bytes_of_broadcast(int64_t bytes, int64_t ranks);

// Connects the ranks of the job that this process was started in, over MPI. It opens a library of
// its own, libapproxtrain_mpi.so beside this one. `limit`: how long a rank waits for the others in
// one exchange. Throws Error(kDevice) if there is no such library or it does not open, and
// Error(kUsage) if the job does not have `ranks` ranks. Call it at most once in a process.
std::shared_ptr<Collectives> open_collectives(int64_t ranks, std::chrono::milliseconds limit);

// That library sets this function when it is opened.
using MakeCollectives = std::shared_ptr<Collectives> (*)(std::chrono::milliseconds limit);
MakeCollectives& collectives_maker();

// Connects the ranks of `host`, with a GPU each, over NCCL. Tensors on the host still go over
// `host`. It opens a library of its own, libapproxtrain_nccl.so beside this one. `device` is open.
// `limit` is as for open_collectives(), also for work of the device. All ranks call it, at most
// once in a process. Throws Error(kDevice) if there is no such library, it does not open, or two
// ranks have one GPU. Throws LostRank if not all ranks come.
std::shared_ptr<Collectives> open_device_collectives(std::shared_ptr<Collectives> host,
                                                     c10::Device device,
                                                     std::chrono::milliseconds limit);

// Throws the Error(kDevice) of a missing library, without opening any.
void require_device_collectives(int64_t ranks);

using MakeDeviceCollectives = std::shared_ptr<Collectives> (*)(std::shared_ptr<Collectives> host,
                                                               c10::Device device,
                                                               std::chrono::milliseconds limit);
MakeDeviceCollectives& device_collectives_maker();

}  // namespace approx
