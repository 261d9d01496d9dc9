// A worker as its coordinator sees it: a process and two pipes.
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

// The kind of a worker: one process, or a job of several that looks like one process to its
// coordinator.
enum class WorkerKind { kProcess, kJob };

// The process `approxtrain train --worker DIRECTORY`, or --job (cli/ranks/job.h), in a process
// group of its own. It outlives neither this object nor this process.
class WorkerProcess {
 public:
  // Throws Error(kInternal) where the system gives no process or pipe.
  WorkerProcess(const std::string& directory, WorkerKind kind);
  ~WorkerProcess();
  WorkerProcess(const WorkerProcess&) = delete;
  WorkerProcess& operator=(const WorkerProcess&) = delete;

  // Read once, without waiting, what is available of its events or of its output. Return whether
  // there may be more.
  using Use = std::function<void(std::string_view bytes)>;
  bool read_events(const Use& use) { return read_some(events_, use); }
  bool read_output(const Use& use) { return read_some(output_, use); }

  // Descriptors to watch for input; negative when closed.
  int events() const { return events_.get(); }
  int output() const { return output_.get(); }

  void send(int signal) const;  // only to the process itself
  void kill() const;            // together with all processes that it started

  // How it ended, if it did; call it until then. Processes that it left running are killed.
  std::optional<ProcessEnd> ended();

 private:
  pid_t pid_ = -1;  // -1: ended
  Descriptor events_, output_;
};

}  // namespace approx
