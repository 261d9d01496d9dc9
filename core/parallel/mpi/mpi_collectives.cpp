// What ranks say to each other, over MPI.
#include <algorithm>
#include <climits>
#include <map>
#include <set>
#include <utility>

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
    case at::kInt:
      return MPI_INT32_T;
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

// A tensor of the host, as MPI takes it.
struct Buffer {
  explicit Buffer(at::Tensor of) : tensor(std::move(of)) {}

  at::Tensor tensor;  // as long as the exchange, which has it
  int count = count_of(tensor);
  MPI_Datatype type = type_of(tensor);

  void* data() const { return tensor.mutable_data_ptr(); }
};

using Requests = std::vector<MPI_Request>;

void add_sum(const Buffer& buffer, MPI_Comm comm, Requests& requests) {
  check_mpi(MPI_Iallreduce(MPI_IN_PLACE, buffer.data(), buffer.count, buffer.type, MPI_SUM, comm,
                           &requests.emplace_back()),
            "a sum over ranks");
}

void add_broadcast(const Buffer& buffer, int root, MPI_Comm comm, Requests& requests) {
  check_mpi(
      MPI_Ibcast(buffer.data(), buffer.count, buffer.type, root, comm, &requests.emplace_back()),
      "what one rank says");
}

// Some of the ranks, at least two and not all, and what a sum over them needs. The thread's own.
struct Group {
  MPI_Comm inner = MPI_COMM_NULL;  // they; null for all others
  MPI_Comm outer = MPI_COMM_NULL;  // the first of them, which tells the others; null for the rest

  // Called by all ranks, which have all come.
  Group(const std::vector<int64_t>& ranks, MPI_Comm comm) {
    int rank = 0;
    check_mpi(MPI_Comm_rank(comm, &rank), "a rank");
    const bool is_in = std::ranges::count(ranks, rank) > 0, is_first = rank == ranks.front();
    const auto split = [&](bool takes_part, int place, MPI_Comm* part) {
      check_mpi(MPI_Comm_split(comm, takes_part ? 0 : MPI_UNDEFINED, place, part),
                "a communicator");
      if (*part != MPI_COMM_NULL) MPI_Comm_set_errhandler(*part, MPI_ERRORS_RETURN);
    };
    split(is_in, rank, &inner);
    split(!is_in || is_first, is_first ? -1 : rank, &outer);
  }
};

using Groups = std::map<std::vector<int64_t>, Group>;

// A sum: over all, of one rank's, or over a group.
struct SumOf {
  Buffer buffer;
  std::vector<int64_t> ranks;

  bool is_over_group() const { return ranks.size() > 1; }
};

class MpiCollectives final : public Collectives {
 public:
  explicit MpiCollectives(std::shared_ptr<MpiThread> thread)
      : Collectives(thread->world()), thread_(std::move(thread)) {}

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

  std::unique_ptr<Pending> added(std::vector<MpiThread::Start> stages) {
    return std::make_unique<Exchange>(thread_, thread_->add(std::move(stages)));
  }

  std::unique_ptr<Pending> do_start_sums(std::vector<Sum> sums) override {
    auto of = std::make_shared<std::vector<SumOf>>();
    bool has_groups = false, has_new = false;
    for (auto& sum : sums) {
      const bool all = static_cast<int64_t>(sum.ranks.size()) == world().size;
      of->push_back({Buffer(sum.values), all ? std::vector<int64_t>() : std::move(sum.ranks)});
      if (!of->back().is_over_group()) continue;
      has_groups = true;
      has_new |= asked_for_.insert(of->back().ranks).second;
    }
    std::vector<MpiThread::Start> stages;
    // To make a group is to wait for all ranks without an end: they come first.
    if (has_new) {
      stages.emplace_back([](MPI_Comm comm, Requests& requests) {
        check_mpi(MPI_Ibarrier(comm, &requests.emplace_back()), "a new group of ranks");
      });
    }
    // All at once: what two ranks send each other goes both ways at the same time.
    stages.emplace_back([of, groups = groups_](MPI_Comm comm, Requests& requests) {
      for (const auto& [buffer, ranks] : *of) {
        if (ranks.empty()) {
          add_sum(buffer, comm, requests);
        } else if (ranks.size() == 1) {
          add_broadcast(buffer, static_cast<int>(ranks[0]), comm, requests);
        } else {
          const auto& group = groups->try_emplace(ranks, ranks, comm).first->second;
          if (group.inner != MPI_COMM_NULL) add_sum(buffer, group.inner, requests);
        }
      }
    });
    if (has_groups) {
      stages.emplace_back([of, groups = groups_](MPI_Comm, Requests& requests) {
        for (const auto& sum : *of) {
          if (!sum.is_over_group()) continue;
          const auto& group = groups->at(sum.ranks);
          if (group.outer != MPI_COMM_NULL) add_broadcast(sum.buffer, 0, group.outer, requests);
        }
      });
    }
    return added(std::move(stages));
  }

  std::unique_ptr<Pending> do_start_gather(const at::Tensor& own, const at::Tensor& all) override {
    return added({[from = Buffer(own), to = Buffer(all)](MPI_Comm comm, Requests& requests) {
      check_mpi(MPI_Iallgather(from.data(), from.count, from.type, to.data(), from.count, from.type,
                               comm, &requests.emplace_back()),
                "what all ranks have");
    }});
  }

  void do_broadcast(const at::Tensor& values) override {
    added({[buffer = Buffer(values)](MPI_Comm comm, Requests& requests) {
      add_broadcast(buffer, 0, comm, requests);
    }})->wait();
  }

  std::shared_ptr<MpiThread> thread_;
  std::set<std::vector<int64_t>> asked_for_;
  std::shared_ptr<Groups> groups_ = std::make_shared<Groups>();  // the thread's
};

[[maybe_unused]] const bool kRegistered = [] {
  collectives_maker() = [](std::chrono::milliseconds limit) -> std::shared_ptr<Collectives> {
    return std::make_shared<MpiCollectives>(MpiThread::start(limit));
  };
  return true;
}();

}  // namespace
}  // namespace approx
