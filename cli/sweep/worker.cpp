#include "cli/sweep/worker.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <new>
#include <optional>

#include "base/error.h"
#include "cli/engine_loader.h"
#include "cli/environment.h"
#include "cli/text.h"
#include "core/config/run_config.h"
#include "results/store/run_lock.h"

namespace approx {
namespace {

std::atomic<bool> stop_requested = false;
static_assert(std::atomic<bool>::is_always_lock_free, "set in a signal handler");

void request_stop(int /*signal*/) { stop_requested = true; }

void write_all(int descriptor, std::string_view bytes, const std::string& what) {
  while (!bytes.empty()) {
    const ssize_t written = write(descriptor, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) {
      throw Error(ErrorKind::kInternal,
                  fmt::format("{}: {} ({} bytes to write); free some space and run again",
                              printable(what), std::strerror(errno), bytes.size()));
    }
    bytes.remove_prefix(static_cast<size_t>(written));
  }
}

// Both ends of the worker's reports: the file that survives everything, then
// the pipe.
class EventLog {
 public:
  explicit EventLog(const std::string& path)
      : path_(path), file_(open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666)) {
    if (file_ < 0) {
      throw Error(ErrorKind::kInternal,
                  fmt::format("{}: {}", printable(path_), std::strerror(errno)));
    }
  }
  EventLog(const EventLog&) = delete;
  EventLog& operator=(const EventLog&) = delete;
  ~EventLog() { close(file_); }

  void write(const Json& event) {
    const std::string line = event_line(event);
    const std::string kind = event.value("event", "");
    if (kind != "progress") {
      write_all(file_, line, path_);
      if ((kind == "final" || kind == "error") && fsync(file_) != 0) {
        throw Error(ErrorKind::kInternal,
                    fmt::format("{}: {}", printable(path_), std::strerror(errno)));
      }
    }
    write_all(kWorkerEvents, line, "the pipe to the coordinator");
  }

 private:
  std::string path_;
  int file_;
};

Json error_event(int kind, const std::string& message, const char* state) {
  return Json{
      {"event", "error"}, {"kind", kind}, {"message", printable(message)}, {"state", state}};
}

// LibTorch's own types are unknown on this side of the library; its texts are
// not.
const char* state_of(const std::string& message) {
  for (const char* words : {"out of memory", "can't allocate memory", "std::bad_alloc"}) {
    if (message.find(words) != std::string::npos) return "oom";
  }
  return "failed";
}

void compute(const Json& task, EventLog& log) {
  const auto config = task.at("config").get<RunConfig>();
  Place place;
  place.data_dir = task.at("data_dir").get<std::string>();
  place.verify_data = task.at("verify_data").get<bool>();
  if (const auto checkpoints = task.find("checkpoints"); checkpoints != task.end()) {
    checkpoints->at("folder").get_to(place.checkpoints.folder);
    checkpoints->at("every_ns").get_to(place.checkpoints.every_ns);
    checkpoints->at("every_epochs").get_to(place.checkpoints.every_epochs);
  }

  Engine& engine = load_engine();
  Json environment = merged_environment(engine.environment());
  environment["threads"] = config.threads;
  environment["device"] = config.device;
  environment["isolated"] = task.value("isolated", false);
  const Disturbance disturbance;
  const bool timing = config.purpose == Purpose::kTiming;

  engine.train(
      config, place,
      [&](const Json& reported) {
        Json event = reported;
        const std::string kind = event.value("event", "");
        if (kind == "start") {
          event["run_key"] = task.at("run_key");
          Json engine_says = event.value("engine", Json::object());
          event["engine"] = environment;
          if (engine_says.is_object()) event["engine"].update(engine_says);
        } else if (kind == "final" && timing) {
          event["taint"] = disturbance.taints();
        }
        log.write(event);
      },
      stop_requested);
}

}  // namespace

std::string event_line(const Json& event) {
  return event.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
}

int run_worker(const std::string& directory) {
  // The coordinator asked for this before the exec as well; once more in case
  // it did not start us.
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  struct sigaction action {};
  action.sa_handler = request_stop;
  sigaction(SIGINT, &action, nullptr);
  sigaction(SIGTERM, &action, nullptr);
  // Where memory runs out, the kernel is to take the worker and leave the
  // coordinator.
  std::ofstream("/proc/self/oom_score_adj") << 500;
  fcntl(kWorkerEvents, F_SETFD, FD_CLOEXEC);

  const auto lock = RunLock::acquire(directory);
  if (!lock) {
    std::fprintf(stderr, "%s: another worker is at it\n", printable(directory).c_str());
    return static_cast<int>(ErrorKind::kInternal);
  }
  std::optional<EventLog> log;
  Json problem;
  try {
    log.emplace(directory + "/" + kEventsFile);
    std::ifstream in(directory + "/" + kConfigFile);
    compute(Json::parse(in), *log);
    // Not through the destructors of LibTorch: everything of value is on disk.
    std::fflush(nullptr);
    _exit(0);
  } catch (const Error& error) {
    problem = error_event(static_cast<int>(error.kind()), error.what(), state_of(error.what()));
  } catch (const std::bad_alloc& error) {
    problem = error_event(static_cast<int>(ErrorKind::kInternal), "out of memory", "oom");
  } catch (const std::exception& error) {
    problem =
        error_event(static_cast<int>(ErrorKind::kInternal), error.what(), state_of(error.what()));
  }
  try {
    if (log) log->write(problem);
  } catch (const Error& error) {
    // The file is what could not be written; the coordinator may still hear of
    // it.
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
