#include "cli/sweep/worker.h"

#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <cstdio>
#include <fstream>
#include <new>
#include <optional>

#include "base/error.h"
#include "base/files.h"
#include "cli/engine_loader.h"
#include "cli/environment.h"
#include "cli/process/disturbance.h"
#include "cli/process/event_log.h"
#include "cli/process/machine_cores.h"
#include "cli/process/protocol.h"
#include "cli/process/run_process.h"
#include "cli/ranks/rank.h"
#include "cli/text.h"
#include "results/store/run_state.h"

namespace approx {
namespace {

std::atomic<bool> stop_requested = false;
static_assert(std::atomic<bool>::is_always_lock_free, "set in a signal handler");

void request_stop(int /*signal*/) { stop_requested = true; }

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

// What computes: a run by itself, or one rank of several.
struct Part {
  std::optional<int64_t> rank;  // nothing: all of it
  EventLog& log;

  // One of several ranks speaks for all; the others are heard only with their errors.
  bool speaks() const { return rank.value_or(0) == 0; }
};

// Where not even the library fits, it is for want of the memory that a run may have: with more it
// would open.
Engine& engine_of(const WorkerTask& task) {
  try {
    return load_engine();
  } catch (const LibraryError& error) {
    const std::string_view why = error.what();
    const bool fits = why.find("map segment") == why.npos && why.find("allocate") == why.npos;
    if (task.memory_bytes == 0 || fits) throw;
    throw Error(error.kind(), out_of_memory(error.what(), task));
  }
}

void compute(const WorkerTask& task, const Part& part) {
  expect_end_without_catch(task);
  limit_memory(task.memory_bytes);
  // Read for the whole machine, and before LibTorch, whose threads keep the mask they begin with.
  const Json program = program_environment();
  const bool pinned = use_cpus(part.rank ? cpus_of_rank(task, *part.rank) : task.cpus);
  Engine& engine = engine_of(task);
  if (task.python) use_in_engine(*task.python, task.config.network);
  // Asked when the run begins: before, there is no GPU open that could be described.
  const auto environment = [&] {
    Json json = merged_environment(engine.environment(), program);
    if (pinned) json["cpus"] = cpu_list(task.cpus);
    json["threads"] = task.config.threads;
    if (part.rank) {
      json["ranks"] = task.config.ranks;
      json["launcher"] = name(task.launcher);
    }
    json["device"] = task.config.device;
    json["device_time"] = "whole";  // seconds have in them what the device did (Run::short_seconds)
    json["isolated"] = task.isolated;
    mark_changed(json, task.changed_files);
    return json;
  };
  if (!pinned && !task.cpus.empty() && part.speaks()) {
    part.log.write(
        {{"event", "note"},
         {"message", fmt::format("no cores of its own: the system does not let it use {} alone",
                                 cpu_list(task.cpus))}});
  }
  // Ranks disturb each other as they should: their job looks after all of them.
  const bool timing = task.config.purpose == Purpose::kTiming && !part.rank;
  std::optional<Disturbance> disturbance;
  if (timing) disturbance.emplace();

  engine.train(
      task.config, task.place,
      [&](const Json& reported) {
        if (!part.speaks()) return;
        Json event = reported;
        const std::string kind = event.value("event", "");
        if (kind == "start") {
          event["run_key"] = task.run_key;
          Json engine_says = event.value("engine", Json::object());
          event["engine"] = environment();
          if (engine_says.is_object()) event["engine"].update(engine_says);
        } else if (kind == "final" && timing) {
          part.log.write(core_wait_event(event, *disturbance));
          add_taints(event, *disturbance);
        }
        part.log.write(event);
      },
      stop_requested);
}

void hear_signals() {
  struct sigaction action {};
  action.sa_handler = request_stop;
  for (const int number : {SIGINT, SIGTERM, SIGUSR1}) sigaction(number, &action, nullptr);
  const sigset_t held = worker_signals();
  sigprocmask(SIG_UNBLOCK, &held, nullptr);
}

// Where memory runs out, the kernel is to take the worker and leave the coordinator.
void go_before_the_coordinator() { std::ofstream("/proc/self/oom_score_adj") << 500; }

// To the end of the process.
[[noreturn]] void work(const std::string& directory, std::optional<int64_t> rank) {
  std::optional<EventLog> log;
  Json problem;
  WorkerTask task;
  try {
    log.emplace(rank ? "" : directory + "/" + kEventsFile);
    task = read_task(directory);
    compute(task, {rank, *log});
    // Not through the destructors of LibTorch: everything of value is on disk.
    std::fflush(nullptr);
    _exit(0);
  } catch (const LibraryError& error) {
    // Where nobody hears it the run is done again, by a library that works.
    problem = error_event(error.kind(), error.what(), RunState::kLost);
    problem[kOfLibrary] = true;
  } catch (const OutOfMemory& error) {
    problem = error_event(error.kind(), out_of_memory(error.what(), task), RunState::kOom);
  } catch (const LostRank& error) {
    problem = error_event(error.kind(), error.what(), RunState::kLost);
  } catch (const Error& error) {
    problem = error_event(error.kind(), error.what(), RunState::kFailed);
  } catch (const std::bad_alloc& error) {
    problem =
        error_event(ErrorKind::kInternal, out_of_memory("out of memory", task), RunState::kOom);
  } catch (const std::exception& error) {
    problem = error_event(ErrorKind::kInternal, error.what(), RunState::kFailed);
  }
  end_with(problem, log ? &*log : nullptr);
}

}  // namespace

int run_worker(const std::string& directory) {
  // It dies with its coordinator, which may be gone already: nobody then reads its events.
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  hear_signals();
  go_before_the_coordinator();
  const auto lock = take_run(directory);
  if (!lock) return static_cast<int>(ErrorKind::kInternal);
  work(directory, std::nullopt);
}

int run_rank(const std::string& directory) {
  hear_signals();
  go_before_the_coordinator();
  const int64_t rank = own_rank();
  become_rank(directory, rank, read_task(directory).launcher);
  work(directory, rank);
}

}  // namespace approx
