// The one thread of a process that calls MPI. A sum goes on only while somebody asks MPI for it,
// and whoever computes has no time for that; and what is never asked for by two threads needs
// nothing of MPI but the least.
#pragma once

#include <mpi.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <exception>
#include <functional>
#include <future>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "core/parallel/world.h"

namespace approx {

// What an MPI function returned, as an exception. Throws LostRank: with errors that MPI returns,
// and not dies of, somebody at the other end is gone.
void check_mpi(int code, const char* what);

class MpiThread {
 public:
  // Starts what is not waited for, any number of things at once: the requests are added.
  using Start = std::function<void(MPI_Comm comm, std::vector<MPI_Request>& requests)>;

  // Initialises MPI. `limit`: of each exchange. Throws Error(kInternal).
  static std::shared_ptr<MpiThread> start(std::chrono::milliseconds limit);

  World world() const { return world_; }
  const std::string& library() const { return library_; }
  const std::vector<std::string>& hosts() const { return hosts_; }  // by rank

  // An exchange in one or several stages, each begun when all of the one before is done. Exchanges
  // go in the order of the calls, one after the other. The future throws LostRank.
  std::future<void> add(std::vector<Start> stages);

  // Waits for one of those. While somebody waits, MPI is asked without a pause at first.
  void wait(std::future<void>& done);

  // Waits for all ranks to do the same, and ends MPI.
  void close();

 private:
  struct Exchange {
    std::vector<Start> stages;
    std::promise<void> done;
    bool is_last = false;
  };

  explicit MpiThread(std::chrono::milliseconds limit) : limit_(limit) {}
  std::future<void> add(Exchange exchange);
  void initialise();
  void work();
  void complete(std::vector<MPI_Request>& requests);
  bool somebody_asks();
  [[noreturn]] void give_up();

  const std::chrono::milliseconds limit_;
  World world_;
  std::string library_;
  std::vector<std::string> hosts_;

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Exchange> exchanges_;
  std::atomic<int> waiting_ = 0;

  // The thread's own.
  MPI_Comm comm_ = MPI_COMM_NULL, words_ = MPI_COMM_NULL;
  std::vector<char> heard_;             // by rank, what it says when it gives up
  std::vector<MPI_Request> listening_;  // by rank
};

}  // namespace approx
