#include "cli/sweep/worker.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <new>
#include <optional>

#include "base/error.h"
#include "base/files.h"
#include "cli/disturbance.h"
#include "cli/engine_loader.h"
#include "cli/environment.h"
#include "cli/sweep/machine_cores.h"
#include "cli/sweep/protocol.h"
#include "cli/text.h"
#include "results/store/run_lock.h"
#include "results/store/run_state.h"

namespace approx {
namespace {

std::atomic<bool> stop_requested = false;
static_assert(std::atomic<bool>::is_always_lock_free, "set in a signal handler");

void request_stop(int /*signal*/) { stop_requested = true; }

void write_line(int descriptor, std::string_view line, const std::string& what) {
  if (const auto error = write_all(descriptor, to_bytes(line))) {
    throw Error(ErrorKind::kInternal,
                fmt::format("{}: {} ({} bytes to write); free some space and run again",
                            printable(what), error.message(), line.size()));
  }
}

// Both ends of the worker's reports: the file that survives everything, then the pipe.
class EventLog {
 public:
  explicit EventLog(const std::string& path)
      : path_(path), file_(open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666)) {
    if (!file_) {
      throw Error(ErrorKind::kInternal,
                  fmt::format("{}: {}", printable(path_), std::strerror(errno)));
    }
  }

  void write(const Json& event) {
    const std::string line = event_line(event);
    const std::string kind = event.value("event", "");
    if (kind != "progress") {
      write_line(file_.get(), line, path_);
      if ((kind == "final" || kind == "error") && fsync(file_.get()) != 0) {
        throw Error(ErrorKind::kInternal,
                    fmt::format("{}: {}", printable(path_), std::strerror(errno)));
      }
    }
    write_line(kWorkerEvents, line, "the pipe to the coordinator");
  }

 private:
  std::string path_;
  Descriptor file_;
};

Json error_event(ErrorKind kind, const std::string& message, RunState state) {
  return Json{{"event", "error"},
              {"kind", static_cast<int>(kind)},
              {"message", printable(message)},
              {"state", name(state)}};
}

// What this process allocates, without the files that it maps.
void limit_memory(int64_t bytes) {
  if (bytes == 0) return;
  const rlimit most{static_cast<rlim_t>(bytes), static_cast<rlim_t>(bytes)};
  setrlimit(RLIMIT_DATA, &most);
}

// Why there is no memory, where that is known.
std::string out_of_memory(const std::string& message, const WorkerTask& task) {
  if (task.memory_bytes == 0) return message;
  return fmt::format("{} (a run may have {}: --memory)", message, format_size(task.memory_bytes));
}

// Where memory runs out in code that may not throw, or in a thread of a library's own, the program
// ends without a catch. What is said then is made beforehand: to make it takes memory.
std::string last_words;
std::terminate_handler usual_end = nullptr;

[[noreturn]] void end_without_catch() {
  try {
    if (const auto thrown = std::current_exception()) std::rethrow_exception(thrown);
  } catch (const std::bad_alloc&) {
    if (write(kWorkerEvents, last_words.data(), last_words.size()) > 0) {
      _exit(static_cast<int>(ErrorKind::kInternal));
    }
  } catch (...) {
  }
  usual_end();
  std::abort();
}

void expect_end_without_catch(const WorkerTask& task) {
  last_words = event_line(
      error_event(ErrorKind::kInternal, out_of_memory("out of memory", task), RunState::kOom));
  usual_end = std::set_terminate(end_without_catch);
}

void compute(const WorkerTask& task, EventLog& log) {
  expect_end_without_catch(task);
  limit_memory(task.memory_bytes);
  // Of the whole machine; and before LibTorch, whose threads have the mask that they are born with.
  const Json program = program_environment();
  const bool pinned = use_cpus(task.cpus);
  Engine& engine = load_engine();
  Json environment = merged_environment(engine.environment(), program);
  if (pinned) environment["cpus"] = cpu_list(task.cpus);
  environment["threads"] = task.config.threads;
  environment["device"] = task.config.device;
  environment["isolated"] = task.isolated;
  mark_changed(environment, task.changed_files);
  if (!pinned && !task.cpus.empty()) {
    log.write(
        {{"event", "note"},
         {"message", fmt::format("no cores of its own: the system does not let it use {} alone",
                                 cpu_list(task.cpus))}});
  }
  const Disturbance disturbance;
  const bool timing = task.config.purpose == Purpose::kTiming;

  engine.train(
      task.config, task.place,
      [&](const Json& reported) {
        Json event = reported;
        const std::string kind = event.value("event", "");
        if (kind == "start") {
          event["run_key"] = task.run_key;
          Json engine_says = event.value("engine", Json::object());
          event["engine"] = environment;
          if (engine_says.is_object()) event["engine"].update(engine_says);
        } else if (kind == "final" && timing) {
          // What the run saw of its own threads, then what the machine did beside it.
          Json taint = event.value("taint", Json::array());
          for (const auto& reason : disturbance.taints()) taint.push_back(reason);
          event["taint"] = taint;
        }
        log.write(event);
      },
      stop_requested);
}

}  // namespace

int run_worker(const std::string& directory) {
  // It dies with its coordinator, which may be gone already: nobody then reads its events.
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  pollfd events{.fd = kWorkerEvents, .events = 0, .revents = 0};
  if (poll(&events, 1, 0) > 0 && (events.revents & POLLERR) != 0) _exit(1);
  struct sigaction action {};
  action.sa_handler = request_stop;
  for (const int number : {SIGINT, SIGTERM, SIGUSR1}) sigaction(number, &action, nullptr);
  const sigset_t held = worker_signals();
  sigprocmask(SIG_UNBLOCK, &held, nullptr);
  // Where memory runs out, the kernel is to take the worker and leave the coordinator.
  std::ofstream("/proc/self/oom_score_adj") << 500;
  fcntl(kWorkerEvents, F_SETFD, FD_CLOEXEC);

  const auto lock = RunLock::acquire(directory);
  if (!lock) {
    std::fprintf(stderr, "%s: another worker is at it\n", printable(directory).c_str());
    return static_cast<int>(ErrorKind::kInternal);
  }
  std::optional<EventLog> log;
  Json problem;
  WorkerTask task;
  try {
    log.emplace(directory + "/" + kEventsFile);
    task = read_task(directory);
    compute(task, *log);
    // Not through the destructors of LibTorch: everything of value is on disk.
    std::fflush(nullptr);
    _exit(0);
  } catch (const OutOfMemory& error) {
    problem = error_event(error.kind(), out_of_memory(error.what(), task), RunState::kOom);
  } catch (const Error& error) {
    problem = error_event(error.kind(), error.what(), RunState::kFailed);
  } catch (const std::bad_alloc& error) {
    problem =
        error_event(ErrorKind::kInternal, out_of_memory("out of memory", task), RunState::kOom);
  } catch (const std::exception& error) {
    problem = error_event(ErrorKind::kInternal, error.what(), RunState::kFailed);
  }
  try {
    if (log) log->write(problem);
  } catch (const Error& error) {
    // The file is what could not be written; the coordinator may still hear of it.
    const std::string line = event_line(problem);
    if (write(kWorkerEvents, line.data(), line.size()) < 0) {
      std::fprintf(stderr, "%s\n", error.what());
    }
  }
  std::fprintf(stderr, "%s\n", problem["message"].get<std::string>().c_str());
  std::fflush(nullptr);
  _exit(problem["kind"].get<int>());
}

}  // namespace approx
