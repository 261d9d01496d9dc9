// The single thread of a process that calls MPI. An exchange makes progress only while a thread
// calls MPI, and threads that compute have no time for that. With a single thread the lowest level
// of MPI's thread support is enough.
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

// Throws LostRank if an MPI function did not succeed. MPI is set to return errors rather than
// abort: they mean that a process at the other end has ended.
void check_mpi(int code, const char* what);

class MpiThread {
 public:
  // Starts any number of operations without waiting, and adds their requests to `requests`.
  using Start = std::function<void(MPI_Comm comm, std::vector<MPI_Request>& requests)>;

  // Initialises MPI. `limit`: the longest time of each exchange. Throws Error(kInternal).
  static std::shared_ptr<MpiThread> start(std::chrono::milliseconds limit);

  World world() const { return world_; }
  const std::string& library() const { return library_; }
  const std::vector<std::string>& hosts() const { return hosts_; }  // by rank

  // Adds an exchange of one or several stages. A stage starts when the stage before is complete.
  // Exchanges are done one after the other, in the order of the calls. The future throws LostRank.
  std::future<void> add(std::vector<Start> stages);

  // Waits for an exchange. Meanwhile the thread polls MPI without pauses at first.
  void wait(std::future<void>& done);

  // Waits until all ranks call it, and ends MPI.
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

  // Used by the thread alone.
  MPI_Comm comm_ = MPI_COMM_NULL, words_ = MPI_COMM_NULL;
  std::vector<char> heard_;             // by rank, its message when it gives up
  std::vector<MPI_Request> listening_;  // by rank
};

}  // namespace approx
