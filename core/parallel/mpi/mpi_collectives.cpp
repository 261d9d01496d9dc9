// What ranks say to each other, over MPI.
#include "base/error.h"
#include "core/parallel/collectives.h"
#include "core/parallel/mpi/mpi_thread.h"

namespace approx {
namespace {

MPI_Datatype type_of(const at::Tensor& tensor) {
  switch (tensor.scalar_type()) {
    case at::kFloat:
      return MPI_FLOAT;
    case at::kDouble:
      return MPI_DOUBLE;
    case at::kLong:
      return MPI_INT64_T;
    default:
      throw Error(ErrorKind::kInternal,
                  fmt::format("ranks exchange no {}", c10::toString(tensor.scalar_type())));
  }
}

int count_of(const at::Tensor& tensor) {
  if (!tensor.is_cpu() || !tensor.is_contiguous() || tensor.numel() > INT_MAX) {
    throw Error(ErrorKind::kInternal, "ranks exchange contiguous tensors of the host");
  }
  return static_cast<int>(tensor.numel());
}

class MpiCollectives final : public Collectives {
 public:
  explicit MpiCollectives(std::shared_ptr<MpiThread> thread)
      : Collectives(thread->world()), thread_(std::move(thread)) {}

  std::unique_ptr<Pending> start_sum(const at::Tensor& values) override {
    return added([values, count = count_of(values), type = type_of(values)](MPI_Comm comm,
                                                                            MPI_Request* request) {
      check_mpi(MPI_Iallreduce(MPI_IN_PLACE, values.mutable_data_ptr(), count, type, MPI_SUM, comm,
                               request),
                "a sum over all ranks");
    });
  }

  std::unique_ptr<Pending> start_gather(const at::Tensor& own, const at::Tensor& all) override {
    count_of(all);
    return added([own, all, count = count_of(own), type = type_of(own)](MPI_Comm comm,
                                                                        MPI_Request* request) {
      check_mpi(MPI_Iallgather(own.const_data_ptr(), count, type, all.mutable_data_ptr(), count,
                               type, comm, request),
                "what all ranks have");
    });
  }

  void broadcast(const at::Tensor& values) override {
    added([values, count = count_of(values), type = type_of(values)](MPI_Comm comm,
                                                                     MPI_Request* request) {
      check_mpi(MPI_Ibcast(values.mutable_data_ptr(), count, type, 0, comm, request),
                "what rank 0 says");
    })->wait();
  }

  void close() override { thread_->close(); }

  Json description() const override {
    return {{"library", thread_->library()}, {"hosts", thread_->hosts()}};
  }

 private:
  class Exchange final : public Pending {
   public:
    Exchange(std::shared_ptr<MpiThread> thread, std::future<void> done)
        : thread_(std::move(thread)), done_(std::move(done)) {}
    void wait() override { thread_->wait(done_); }

   private:
    std::shared_ptr<MpiThread> thread_;
    std::future<void> done_;
  };

  // The tensors live as long as the exchange, which has them.
  std::unique_ptr<Pending> added(MpiThread::Start start) {
    return std::make_unique<Exchange>(thread_, thread_->add(std::move(start)));
  }

  std::shared_ptr<MpiThread> thread_;
};

[[maybe_unused]] const bool registered = [] {
  collectives_maker() = [](std::chrono::milliseconds limit) -> std::shared_ptr<Collectives> {
    return std::make_shared<MpiCollectives>(MpiThread::start(limit));
  };
  return true;
}();

}  // namespace
}  // namespace approx
