// What ranks with a GPU each say to each other: tensors of the host as another Collectives does it,
// those of the GPU over NCCL, in a stream beside that of the training.
#include <ATen/ops/empty.h>
#include <ATen/ops/zeros.h>
#include <c10/cuda/CUDAFunctions.h>
#include <c10/cuda/CUDAStream.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <utility>

#include "base/error.h"
#include "core/engine/engine.h"
#include "core/parallel/collectives.h"
#include "core/parallel/device_watch.h"
#include "core/parallel/nccl/communicators.h"
#include "core/parallel/nccl/cuda_event.h"

namespace approx {
namespace {

ncclDataType_t type_of(const at::Tensor& tensor) {
  switch (tensor.scalar_type()) {
    case at::kFloat:
      return ncclFloat32;
    case at::kDouble:
      return ncclFloat64;
    case at::kInt:
      return ncclInt32;
    case at::kLong:
      return ncclInt64;
    default:
      throw Error(ErrorKind::kInternal,
                  fmt::format("ranks exchange no {}", c10::toString(tensor.scalar_type())));
  }
}

// A tensor of the GPU, as NCCL takes it.
struct Buffer {
  explicit Buffer(const at::Tensor& tensor)
      : data(tensor.mutable_data_ptr()),
        count(static_cast<size_t>(tensor.numel())),
        type(type_of(tensor)) {
    if (!tensor.is_cuda() || !tensor.is_contiguous()) {
      throw Error(ErrorKind::kInternal, "ranks exchange contiguous tensors of one kind of device");
    }
  }

  void* data;
  size_t count;
  ncclDataType_t type;
};

// Several calls of one communicator as one.
class TogetherScope {
 public:
  TogetherScope() { check_nccl(ncclGroupStart(), "several exchanges at once"); }
  ~TogetherScope() {
    if (!done_) static_cast<void>(ncclGroupEnd());
  }
  TogetherScope(const TogetherScope&) = delete;
  TogetherScope& operator=(const TogetherScope&) = delete;

  void end(ncclComm_t comm) {
    done_ = true;
    check_nccl(ncclGroupEnd(), "several exchanges at once", comm);
  }

 private:
  bool done_ = false;
};

void add_sum(const Buffer& buffer, ncclComm_t comm, cudaStream_t stream) {
  check_nccl(
      ncclAllReduce(buffer.data, buffer.data, buffer.count, buffer.type, ncclSum, comm, stream),
      "a sum over ranks", comm);
}

void add_broadcast(const Buffer& buffer, int root, ncclComm_t comm, cudaStream_t stream) {
  check_nccl(ncclBroadcast(buffer.data, buffer.data, buffer.count, buffer.type, root, comm, stream),
             "what one rank says", comm);
}

// Its model and its UUID.
std::string gpu_text(c10::Device device) {
  cudaDeviceProp facts{};
  C10_CUDA_CHECK(cudaGetDeviceProperties(&facts, device.index()));
  std::string uuid;
  for (const char byte : facts.uuid.bytes) {
    uuid += fmt::format("{:02x}", static_cast<unsigned char>(byte));
  }
  return fmt::format("{} {}", facts.name, uuid);
}

std::vector<std::string> gpus_of_all(Collectives& host, c10::Device device) {
  auto gpus = host.of_all(gpu_text(device));
  for (size_t rank = 1; rank < gpus.size(); ++rank) {
    const auto first = static_cast<size_t>(std::ranges::find(gpus, gpus[rank]) - gpus.begin());
    if (first == rank) continue;
    throw Error(ErrorKind::kDevice, fmt::format("ranks {} and {} have one GPU ({}): each needs one "
                                                "of its own; give fewer ranks, or more GPUs",
                                                first, rank, gpus[rank]));
  }
  return gpus;
}

ncclUniqueId id_of_first(Collectives& host) {
  // All that may wait for other ranks is done while communicators are made, and not in the first
  // exchange that needs it: who waits there is seen by nobody.
  setenv("NCCL_RUNTIME_CONNECT", "0", /*overwrite=*/0);
  ncclUniqueId id{};
  if (host.world().rank == 0) check_nccl(ncclGetUniqueId(&id), "a name for the communicator");
  static_assert(sizeof id % 8 == 0);
  const auto bytes = at::zeros({static_cast<int64_t>(sizeof id / 8)}, at::kLong);
  std::memcpy(bytes.mutable_data_ptr(), &id, sizeof id);
  host.broadcast(bytes);
  std::memcpy(&id, bytes.const_data_ptr(), sizeof id);
  return id;
}

class NcclCollectives final : public Collectives {
 public:
  NcclCollectives(std::shared_ptr<Collectives> host, c10::Device device,
                  std::chrono::milliseconds limit)
      : Collectives(host->world()),
        host_(std::move(host)),
        device_(device),
        gpus_(gpus_of_all(*host_, device)),
        comms_(std::make_shared<Communicators>(id_of_first(*host_), world(), device, limit)),
        stream_(c10::cuda::getStreamFromPool(/*isHighPriority=*/true, device.index())),
        ready_(std::make_unique<CudaEvent>()) {
    const auto begin = [device] {
      c10::cuda::set_device(device.index());
      // What this thread asks of the device must not end a capture by another.
      auto mode = cudaStreamCaptureModeRelaxed;
      C10_CUDA_CHECK(cudaThreadExchangeStreamCaptureMode(&mode));
    };
    watch_ = std::make_unique<DeviceWatch>(
        limit,
        DeviceWatch::Device{
            .begin = begin,
            .fault = [comms = comms_] { return comms->fault(); },
            .give_up = [comms = comms_](const std::string&) { comms->abort(); },
            .late = fmt::format("the GPUs of all {} ranks did not go on within {:.3g} s "
                                "(--rank-timeout): one of them hangs, or did not come to an "
                                "exchange",
                                world().size, std::chrono::duration<double>(limit).count())});
  }

  bool is_of_device() const override { return true; }

  void watch() override {
    check();
    const auto stream = c10::cuda::getCurrentCUDAStream(device_.index()).stream();
    if (is_captured(stream)) return;
    const auto here = std::make_shared<CudaEvent>();
    here->record(stream);
    watch_->expect([here] { return here->is_reached(); });
  }

  // The communicators end with the process: to destroy one is to wait for the others once more.
  void close() override {
    c10::cuda::device_synchronize();
    check();
    host_->close();
  }

  Json description() const override {
    Json description = host_->description();
    description["nccl"] = nccl_version();
    description["gpus"] = gpus_;
    return description;
  }

 private:
  class Exchange final : public Pending {
   public:
    Exchange(NcclCollectives& owner, std::shared_ptr<CudaEvent> done,
             std::vector<at::Tensor> tensors, bool is_captured)
        : owner_(owner),
          done_(std::move(done)),
          tensors_(std::move(tensors)),
          is_captured_(is_captured) {}

    // Whose memory is given back here must not be anybody's before the exchange is done with it. (A
    // capture that was not waited in has gone wrong, and nothing of it is ever done.)
    ~Exchange() override {
      if (is_waited_ || is_captured_) return;
      try {
        done_->hold(owner_.current());
      } catch (const std::exception&) {  // seen by the watch
      }
    }

    void wait() override {
      owner_.check();
      done_->hold(owner_.current());
      is_waited_ = true;
    }

   private:
    NcclCollectives& owner_;
    std::shared_ptr<CudaEvent> done_;
    std::vector<at::Tensor> tensors_;
    bool is_captured_, is_waited_ = false;
  };

  cudaStream_t current() const { return c10::cuda::getCurrentCUDAStream(device_.index()).stream(); }

  void check() const {
    if (const auto failure = watch_->failure(); !failure.empty()) throw LostRank(failure);
  }

  // Has the stream of exchanges do what `work` asks of it, behind what was asked of the current
  // stream.
  template <typename Work>
  std::unique_ptr<Pending> started(std::vector<at::Tensor> tensors, Work work) {
    check();
    const auto before = current();
    const bool captured = is_captured(before);
    ready_->record(before);
    ready_->hold(stream_.stream());
    try {
      const DeviceWatch::Call call(*watch_);
      work(captured);
    } catch (const std::exception&) {
      check();  // what ended it, where that is known
      throw;
    }
    auto done = std::make_shared<CudaEvent>();
    done->record(stream_.stream());
    if (!captured) watch_->expect([done] { return done->is_reached(); });
    return std::make_unique<Exchange>(*this, std::move(done), std::move(tensors), captured);
  }

  // Groups that are not there yet. All ranks come here at once.
  void make_groups(const std::vector<Sum>& sums, bool captured) {
    for (const auto& sum : sums) {
      if (!is_over_group(sum) || comms_->has_group(sum.ranks)) continue;
      if (captured) {
        throw Error(ErrorKind::kDevice, "a new group of ranks cannot be made while it is captured");
      }
      C10_CUDA_CHECK(cudaStreamSynchronize(stream_.stream()));
      check();
      comms_->group(sum.ranks);
    }
  }

  bool is_over_all(const Sum& sum) const {
    return sum.ranks.empty() || static_cast<int64_t>(sum.ranks.size()) == world().size;
  }
  bool is_over_group(const Sum& sum) const { return !is_over_all(sum) && sum.ranks.size() > 1; }

  // Communicators follow each other, in one order on all ranks: of two that wait for one another
  // on the device neither would end.
  void sums_by_communicator(const std::vector<Sum>& sums) {
    const auto stream = stream_.stream();
    {
      TogetherScope together;
      for (const auto& sum : sums) {
        if (is_over_all(sum)) {
          add_sum(Buffer(sum.values), comms_->all(), stream);
        } else if (sum.ranks.size() == 1) {
          add_broadcast(Buffer(sum.values), static_cast<int>(sum.ranks[0]), comms_->all(), stream);
        }
      }
      together.end(comms_->all());
    }
    for (const auto& sum : sums) {
      if (!is_over_group(sum)) continue;
      const auto& group = comms_->group(sum.ranks);
      if (group.inner != nullptr) add_sum(Buffer(sum.values), group.inner, stream);
    }
    for (const auto& sum : sums) {
      if (!is_over_group(sum)) continue;
      const auto& group = comms_->group(sum.ranks);
      if (group.outer != nullptr) add_broadcast(Buffer(sum.values), 0, group.outer, stream);
    }
  }

  std::unique_ptr<Pending> do_start_sums(std::vector<Sum> sums) override {
    check();
    if (sums.empty() || sums.front().values.is_cpu()) return host_->start_sums(std::move(sums));
    std::vector<at::Tensor> tensors;
    for (const auto& sum : sums) tensors.push_back(sum.values);
    return started(std::move(tensors), [&](bool captured) {
      make_groups(sums, captured);
      sums_by_communicator(sums);
    });
  }

  std::unique_ptr<Pending> do_start_gather(const at::Tensor& own, const at::Tensor& all) override {
    check();
    if (own.is_cpu()) return host_->start_gather(own, all);
    return started({own, all}, [&](bool) {
      const Buffer from(own), to(all);
      check_nccl(
          ncclAllGather(from.data, to.data, from.count, from.type, comms_->all(), stream_.stream()),
          "what all ranks have", comms_->all());
    });
  }

  void do_broadcast(const at::Tensor& values) override {
    check();
    if (values.is_cpu()) return host_->broadcast(values);
    started({values}, [&](bool) {
      add_broadcast(Buffer(values), 0, comms_->all(), stream_.stream());
    })->wait();
  }

  const std::shared_ptr<Collectives> host_;
  const c10::Device device_;
  const std::vector<std::string> gpus_;  // by rank
  const std::shared_ptr<Communicators> comms_;
  const c10::cuda::CUDAStream stream_;
  const std::unique_ptr<CudaEvent> ready_;
  std::unique_ptr<DeviceWatch> watch_;
};

[[maybe_unused]] const bool kRegistered = [] {
  device_collectives_maker() = [](std::shared_ptr<Collectives> host, c10::Device device,
                                  std::chrono::milliseconds limit) -> std::shared_ptr<Collectives> {
    return std::make_shared<NcclCollectives>(std::move(host), device, limit);
  };
  return true;
}();

}  // namespace
}  // namespace approx
