// What processes that train one network together say to each other. They are ranks of one job, and
// all of them make the same calls in the same order.
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
  // An exchange under way. Its tensors are not to be touched before wait() has returned, which
  // throws Error(kInternal) with the ranks that did not come within the limit, or with what went
  // wrong. One that is let go of without a wait is completed all the same.
  class Pending {
   public:
    virtual ~Pending() = default;
    virtual void wait() = 0;
  };

  virtual ~Collectives() = default;
  Collectives(const Collectives&) = delete;
  Collectives& operator=(const Collectives&) = delete;

  World world() const { return world_; }

  // Whether tensors of the device that this process computes on are exchanged too, as work of that
  // device: wait() has what is asked of the current stream from then on wait for the exchange, and
  // the host for nothing. A training step must then ask the host for nothing
  // (core/train/bucketed_reduction.h). What is of the host is exchanged among hosts as ever.
  virtual bool is_of_device() const { return false; }

  // To be called after each training step, and when the host has read something of the device and
  // is about to go by it: throws LostRank (core/engine/engine.h) where the device, or another
  // rank's, did not go on within the limit. Waits for nothing; where the host waits for each
  // exchange there is nothing to be seen.
  virtual void watch() {}

  // Each entry of `values` becomes its sum over some ranks, on all: the same bits on each, and for
  // one number of ranks whatever their timing. Contiguous; float, double or int64.
  struct Sum {
    at::Tensor values;           // what a rank that is not among them has here is not looked at
    std::vector<int64_t> ranks;  // ascending; empty: all
  };
  // Several at once.
  [[nodiscard]] std::unique_ptr<Pending> start_sums(std::vector<Sum> sums);
  [[nodiscard]] std::unique_ptr<Pending> start_sum(const at::Tensor& values);  // over all

  // `all` [size, ...] takes what every rank has in `own` [...], by rank. Contiguous, of one type
  // and one size on all; int32 too.
  [[nodiscard]] std::unique_ptr<Pending> start_gather(const at::Tensor& own, const at::Tensor& all);

  // What rank 0 has in `values` is written over it on all others.
  void broadcast(const at::Tensor& values);

  // Bytes that a rank has sent in all that was begun, the mean over the ranks, counted as below.
  double bytes_sent() const { return bytes_sent_; }
  // Where that is counted, for steps that are repeated without a call.
  double* sent_count() { return &bytes_sent_; }

  // To be called by all ranks when nothing more will be said. An object that dies without it leaves
  // the others to find out.
  virtual void close() = 0;

  // What carries it all: {"library": "Open MPI v4.1.4", ...}. On one rank as on all.
  virtual Json description() const = 0;

  void sum(const at::Tensor& values) { start_sum(values)->wait(); }
  at::Tensor gathered(const at::Tensor& own);  // [size, ...]

  double mean(double value);        // over all ranks
  bool any(bool value);             // whether it is true of one
  int64_t of_first(int64_t value);  // rank 0's
  std::string of_first(const std::string& text);
  std::vector<std::string> of_all(const std::string& text);  // by rank

  // That all ranks have the same. Throws Error(kUsage) that names the first rank which differs from
  // rank 0: "rank 2 has another library than rank 0 (0f3a..., b811...): <advice>". `what` and
  // `advice` are words for people, `text` is compared, and shown where it is short.
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

// The bytes that each rank sends, the mean over `ranks` of them, in an exchange whose algorithm
// sends none twice, such as a ring's; what messages have beside their content is not in it. In a
// sum over m of them of B bytes 2 (m - 1) B are sent among the m, and (ranks - m) B to the others.
// What all have of B bytes each takes (ranks - 1) B from every rank, and what one has as much in
// all.
double bytes_of_sum(int64_t bytes, int64_t over, int64_t ranks);
double bytes_of_gather(int64_t bytes, int64_t ranks);
double bytes_of_broadcast(int64_t bytes, int64_t ranks);

// The ranks of the job that this process was started in, over MPI, by a library of its own that is
// opened now: libapproxtrain_mpi.so beside this one. `limit`: how long a rank waits for the others
// in one exchange. Throws Error(kDevice) where there is no such library, or it does not open;
// Error(kUsage) where the job has not `ranks` ranks. Once in a process.
std::shared_ptr<Collectives> open_collectives(int64_t ranks, std::chrono::milliseconds limit);

// How that library makes itself known when it is opened.
using MakeCollectives = std::shared_ptr<Collectives> (*)(std::chrono::milliseconds limit);
MakeCollectives& collectives_maker();

// The same ranks as `host`, which goes on to exchange what is of the host, with a GPU each, whose
// tensors go over NCCL: by a library of its own, libapproxtrain_nccl.so beside this one, and once
// in a process. `device` is open; `limit` as above, also for what the device does. Called by all
// ranks. Throws Error(kDevice) where there is no such library, it does not open, or two ranks have
// one GPU; LostRank where not all come.
std::shared_ptr<Collectives> open_device_collectives(std::shared_ptr<Collectives> host,
                                                     c10::Device device,
                                                     std::chrono::milliseconds limit);

// Throws the Error(kDevice) of a missing library before anything is opened.
void require_device_collectives(int64_t ranks);

using MakeDeviceCollectives = std::shared_ptr<Collectives> (*)(std::shared_ptr<Collectives> host,
                                                               c10::Device device,
                                                               std::chrono::milliseconds limit);
MakeDeviceCollectives& device_collectives_maker();

}  // namespace approx
