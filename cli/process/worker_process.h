// A worker as its coordinator has it: a process and two pipes.
#pragma once

#include <sys/types.h>

#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "base/files.h"
#include "cli/process/pipe.h"
#include "cli/process/process_end.h"

namespace approx {

// What computes a run: one process, or a job of several that is one to its coordinator.
enum class WorkerKind { kProcess, kJob };

// `approxtrain train --worker DIRECTORY`, or --job (cli/ranks/job.h), in a process group of its
// own. It does not outlive this object, nor this process.
class WorkerProcess {
 public:
  // Throws Error(kInternal) where the system gives no process or pipe.
  WorkerProcess(const std::string& directory, WorkerKind kind);
  ~WorkerProcess();
  WorkerProcess(const WorkerProcess&) = delete;
  WorkerProcess& operator=(const WorkerProcess&) = delete;

  // One read each, which does not wait: what there is of its events, and of what it prints. Whether
  // there may be more.
  using Use = std::function<void(std::string_view bytes)>;
  bool read_events(const Use& use) { return read_some(events_, use); }
  bool read_output(const Use& use) { return read_some(output_, use); }

  // To be watched for something to read; negative when closed.
  int events() const { return events_.get(); }
  int output() const { return output_.get(); }

  void send(int signal) const;  // to itself
  void kill() const;            // with whatever it started

  // How it ended, if it did; to be asked until then. What it left running is killed.
  std::optional<ProcessEnd> ended();

 private:
  pid_t pid_ = -1;  // -1: ended
  Descriptor events_, output_;
};

}  // namespace approx
