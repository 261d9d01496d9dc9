#include "core/parallel/mpi/mpi_thread.h"

#include <sched.h>

#include <algorithm>
#include <cstdlib>
#include <optional>
#include <utility>

#include "base/awake_clock.h"
#include "base/error.h"
#include "core/engine/engine.h"

namespace approx {
namespace {

using Clock = std::chrono::steady_clock;

// Asked without a pause for so long while somebody waits: exchanges on one machine are done by
// then. Where ranks have no cores of their own the others compute meanwhile.
constexpr auto kEager = std::chrono::microseconds(300);
constexpr auto kPause = std::chrono::microseconds(50);
// For whoever waits too to say so.
constexpr auto kLastWords = std::chrono::seconds(3);
constexpr auto kListenEvery = std::chrono::milliseconds(20);

std::string library_version() {
  char text[MPI_MAX_LIBRARY_VERSION_STRING];
  int length = 0;
  check_mpi(MPI_Get_library_version(text, &length), "the version of MPI");
  const std::string whole(text, static_cast<size_t>(length));
  return whole.substr(0, whole.find_first_of(",\n"));
}

std::vector<std::string> host_names(MPI_Comm comm, int size) {
  std::vector<char> own(MPI_MAX_PROCESSOR_NAME);
  int length = 0;
  check_mpi(MPI_Get_processor_name(own.data(), &length), "the name of the host");
  std::vector<char> all(own.size() * static_cast<size_t>(size));
  check_mpi(MPI_Allgather(own.data(), MPI_MAX_PROCESSOR_NAME, MPI_CHAR, all.data(),
                          MPI_MAX_PROCESSOR_NAME, MPI_CHAR, comm),
            "the names of the hosts");
  std::vector<std::string> names;
  for (size_t at = 0; at < all.size(); at += own.size()) names.emplace_back(&all[at]);
  return names;
}

}  // namespace

void check_mpi(int code, const char* what) {
  if (code == MPI_SUCCESS) return;
  char text[MPI_MAX_ERROR_STRING];
  int length = 0;
  MPI_Error_string(code, text, &length);
  throw LostRank(fmt::format("{}: {}", what, std::string_view(text, static_cast<size_t>(length))));
}

std::shared_ptr<MpiThread> MpiThread::start(std::chrono::milliseconds limit) {
  // Open MPI's own choice for sums in place that are not waited for is a tree: with two ranks all
  // goes there and back again. Rabenseifner's algorithm has each rank add a part, both ways at
  // once.
  setenv("OMPI_MCA_coll_libnbc_iallreduce_algorithm", "3", /*overwrite=*/0);
  std::shared_ptr<MpiThread> thread(new MpiThread(limit));
  std::promise<void> ready;
  auto is_ready = ready.get_future();
  // It lives as long as its work: an exchange that hangs cannot be taken back.
  std::thread([thread, ready = std::move(ready)]() mutable {
    try {
      thread->initialise();
    } catch (...) {
      ready.set_exception(std::current_exception());
      return;
    }
    ready.set_value();
    thread->work();
  }).detach();
  is_ready.get();
  return thread;
}

void MpiThread::initialise() {
  int given = 0;
  if (MPI_Init_thread(nullptr, nullptr, MPI_THREAD_FUNNELED, &given) != MPI_SUCCESS) {
    throw Error(ErrorKind::kInternal, "MPI does not start");
  }
  check_mpi(MPI_Comm_dup(MPI_COMM_WORLD, &comm_), "a communicator");
  check_mpi(MPI_Comm_dup(MPI_COMM_WORLD, &words_), "a communicator");
  for (const auto comm : {comm_, words_}) MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
  int rank = 0, size = 0;
  MPI_Comm_rank(comm_, &rank);
  MPI_Comm_size(comm_, &size);
  world_ = {.rank = rank, .size = size};
  library_ = library_version();
  hosts_ = host_names(comm_, size);
  heard_.resize(static_cast<size_t>(size));
  listening_.assign(static_cast<size_t>(size), MPI_REQUEST_NULL);
  for (int other = 0; other < size; ++other) {
    if (other == rank) continue;
    const auto at = static_cast<size_t>(other);
    check_mpi(MPI_Irecv(&heard_[at], 1, MPI_CHAR, other, 0, words_, &listening_[at]), "listening");
  }
}

std::future<void> MpiThread::add(std::vector<Start> stages) {
  return add(Exchange{.stages = std::move(stages), .done = {}});
}

std::future<void> MpiThread::add(Exchange exchange) {
  auto done = exchange.done.get_future();
  {
    const std::lock_guard lock(mutex_);
    exchanges_.push_back(std::move(exchange));
  }
  changed_.notify_one();
  return done;
}

void MpiThread::wait(std::future<void>& done) {
  ++waiting_;
  done.wait();
  --waiting_;
  done.get();
}

void MpiThread::close() {
  auto done = add(Exchange{.stages = {[](MPI_Comm comm, std::vector<MPI_Request>& requests) {
                             check_mpi(MPI_Ibarrier(comm, &requests.emplace_back()), "the end");
                           }},
                           .done = {},
                           .is_last = true});
  wait(done);
}

void MpiThread::work() {
  while (true) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return !exchanges_.empty(); });
    Exchange exchange = std::move(exchanges_.front());
    exchanges_.pop_front();
    lock.unlock();
    try {
      for (const auto& start : exchange.stages) {
        std::vector<MPI_Request> requests;
        start(comm_, requests);
        complete(requests);
      }
      if (exchange.is_last) {
        for (auto& listening : listening_) {
          if (listening == MPI_REQUEST_NULL) continue;
          MPI_Cancel(&listening);
          MPI_Request_free(&listening);
        }
        MPI_Finalize();
      }
      exchange.done.set_value();
    } catch (...) {
      exchange.done.set_exception(std::current_exception());
    }
    if (exchange.is_last) return;
  }
}

void MpiThread::complete(std::vector<MPI_Request>& requests) {
  const auto begin = Clock::now();
  std::optional<AwakeClock> patience;  // of an exchange that takes longer
  AwakeClock::time_point since, listen_at;
  while (true) {
    int done = 0;
    check_mpi(
        MPI_Testall(static_cast<int>(requests.size()), requests.data(), &done, MPI_STATUSES_IGNORE),
        "an exchange with the other ranks");
    if (done != 0) return;
    if (waiting_ > 0 && Clock::now() - begin < kEager) {
      sched_yield();
      continue;
    }
    if (!patience) {
      patience.emplace(kListenEvery);
      since = patience->now();
      listen_at = since + kListenEvery;
    }
    const auto now = patience->now();
    bool asked = false;
    if (now > listen_at) {
      asked = somebody_asks();
      listen_at = now + kListenEvery;
    }
    if (asked || now - since > limit_) give_up();
    std::this_thread::sleep_for(kPause);
  }
}

bool MpiThread::somebody_asks() {
  for (auto& listening : listening_) {
    int done = 0;
    if (listening == MPI_REQUEST_NULL) continue;
    check_mpi(MPI_Test(&listening, &done, MPI_STATUS_IGNORE), "listening");
    if (done != 0) return true;
  }
  return false;
}

// Says that it waits, and who does not say the same in time is who is missing. Whoever waits hears
// it and does likewise, however long it has waited.
void MpiThread::give_up() {
  static const char word = 'w';
  const int size = static_cast<int>(world_.size);
  std::vector<MPI_Request> sending(static_cast<size_t>(size), MPI_REQUEST_NULL);
  for (int other = 0; other < size; ++other) {
    if (other == world_.rank) continue;
    MPI_Isend(&word, 1, MPI_CHAR, other, 0, words_, &sending[static_cast<size_t>(other)]);
  }
  AwakeClock clock(kListenEvery);
  const auto until = clock.now() + kLastWords;
  const auto all_heard = [&] {
    somebody_asks();
    return std::ranges::count(listening_, MPI_REQUEST_NULL) == size;
  };
  while (!all_heard() && clock.now() < until) std::this_thread::sleep_for(kPause);
  // What was said must leave this process before it ends.
  int sent = 0;
  MPI_Testall(size, sending.data(), &sent, MPI_STATUSES_IGNORE);
  std::vector<int> missing;
  for (int other = 0; other < size; ++other) {
    if (listening_[static_cast<size_t>(other)] != MPI_REQUEST_NULL) missing.push_back(other);
  }
  const double seconds = std::chrono::duration<double>(limit_).count();
  if (missing.empty()) {
    throw LostRank(
        fmt::format("an exchange among all {} ranks was not done within {:.3g} s (--rank-timeout)",
                    size, seconds));
  }
  throw LostRank(fmt::format(
      "{} {} did not come to an exchange that others waited {:.3g} s for (--rank-timeout)",
      missing.size() == 1 ? "rank" : "ranks", fmt::join(missing, ", "), seconds));
}

}  // namespace approx
