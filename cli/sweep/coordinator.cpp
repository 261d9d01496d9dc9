#include "cli/sweep/coordinator.h"

#include <poll.h>

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <memory>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/files.h"
#include "cli/environment.h"
#include "cli/process/machine_cores.h"
#include "cli/process/memory_kills.h"
#include "cli/process/protocol.h"
#include "cli/process/signals.h"
#include "cli/process/timing_lock.h"
#include "cli/python_flags.h"
#include "cli/ranks/session_folder.h"
#include "cli/store.h"
#include "cli/sweep/library_watch.h"
#include "cli/sweep/observed.h"
#include "cli/sweep/progress.h"
#include "cli/sweep/run_paths.h"
#include "cli/sweep/run_queue.h"
#include "cli/sweep/supervised_run.h"
#include "cli/sweep/sweep_checks.h"
#include "cli/sweep/sweep_lock.h"
#include "cli/sweep/work_left.h"
#include "cli/text.h"

namespace approx {
namespace {

constexpr int64_t kRetries = 2;  // of a run whose worker was killed from outside
constexpr int64_t kDeviceFailures = 3;
constexpr int64_t kVainTimings = 3;  // made again in a row, and disturbed again: no more are
constexpr auto kFarewell = std::chrono::seconds(2);  // for a worker whose coordinator is gone
constexpr auto kLookAtRuns = std::chrono::milliseconds(100);  // at least so often

// A run that ended during the sweep.
struct EndedRun {
  const PlannedRun* run = nullptr;
  RunEnd end;
  std::string directory;
  std::vector<Json> events;
};

class Coordinator {
 public:
  Coordinator(const GlobalOptions& options, const SweepOptions& sweep, RunStore& store,
              const SignalScope& signals, Progress& progress,
              const std::vector<std::string>& changed_files, RunQueue queue)
      : options_(options),
        sweep_(sweep),
        store_(store),
        signals_(signals),
        progress_(progress),
        changed_files_(changed_files),
        queue_(std::move(queue)) {
    mark_changed(environment_, changed_files_);
    store_.set_pause([this](std::chrono::milliseconds pause) { wait_for_store(pause); });
  }
  ~Coordinator() { store_.set_pause({}); }
  Coordinator(const Coordinator&) = delete;

  // A run to be done, of which there have been `attempts`.
  void add(const PlannedRun* run, int64_t attempts) { queue_.add({run, ++numbered_, attempts}); }

  // A run that another process has now.
  void add_elsewhere(const PlannedRun* run) { elsewhere_.push_back({run, ++numbered_}); }

  void work(int64_t jobs, bool isolated) {
    isolated_ = isolated;
    // One accuracy run after the other has the machine, threads of its own beside those that
    // multiply included. A timing must not be moved to another package.
    apart_ = jobs > 1 || isolated;
    if (sweep_.pin && (apart_ || queue_.any(is_job))) cores_ = cores_of_machine(jobs);
    queue_.sort();
    try {
      work_through(jobs);
    } catch (...) {
      let_end();
      throw;
    }
    result.elsewhere = static_cast<int64_t>(elsewhere_.size());
    leave_disturbed(queue_.disturbed());
    result.not_started = queue_.size() - queue_.disturbed();
    result.budget_used_up = sweep_.budget.count() > 0 && signals_.stop_count() == 0 && !no_more_ &&
                            result.not_started + result.interrupted > 0;
    result.signal = signals_.stop_signal();
  }

  SweepResult result;

 private:
  bool stopping() const { return signals_.stop_count() > 0 || no_more_ || queue_.is_over(); }

  void work_through(int64_t jobs) {
    const auto patience = clock_.now() + kFarewell;
    do {
      while (true) {
        while (!stopping() && static_cast<int64_t>(workers_.size()) < jobs) {
          const auto next = queue_.take();
          if (!next) break;
          start(*next);
        }
        if (workers_.empty()) break;
        wait();
      }
    } while (!stopping() && take_back(patience));
  }

  // Where the store fails nothing more can be recorded there: what is at work ends in order, with a
  // checkpoint and what it reported in its folder, from where the next sweep takes it up.
  void let_end() {
    for (const auto& worker : workers_) worker->ask_to_stop(SIGTERM, sweep_.grace);
    while (!workers_.empty()) {
      hear(kLookAtRuns);
      std::erase_if(workers_,
                    [](const auto& worker) { return worker->process.ended().has_value(); });
    }
  }

  // Counts disturbed timings that are not made again.
  void leave_disturbed(int64_t timings) {
    result.finished += timings;
    result.tainted += timings;
  }

  // Puts back runs that another process had, and has no more: a worker whose coordinator was killed
  // needs a moment to go, and its run is ours then. Whether there is something to do.
  bool take_back(AwakeClock::time_point patience) {
    while (!elsewhere_.empty()) {
      bool is_back = false;
      store_.recover();
      for (const auto& waiting : std::exchange(elsewhere_, {})) {
        const bool held = store_.status(waiting.run->key).state == RunState::kRunning;
        if (held) {
          elsewhere_.push_back(waiting);
        } else {
          queue_.add(waiting);
          is_back = true;
        }
      }
      if (is_back) return true;
      if (stopping() || clock_.now() > patience) return false;
      std::this_thread::sleep_for(kLookAtRuns);
    }
    return false;
  }

  void start(const Waiting& next) {
    if (next.timed_again > 0 && vain_timings_ >= kVainTimings) {
      leave_disturbed(1);
      return;
    }
    // Another sweep on the same store may have done it meanwhile.
    const CellStatus status = store_.status(next.run->key);
    if (status.state == RunState::kRunning) {
      elsewhere_.push_back({next.run, next.number});
      return;
    }
    // --rerun means the state that a run had when this sweep began, not what it came to since; and
    // the state of a run that this sweep tries once more says so itself (lost, interrupted).
    if (status.attempts != next.attempts && !needs_run(status, {}, "")) {
      count_before(*status.state, result);
      return;
    }
    std::string directory;
    std::optional<int64_t> run_id;
    try {
      directory = make_run_directory(options_.db, next.run->key, status.attempts + 1);
      CorePool::Lease cores = cores_for(next.run->config);
      write_task(directory, task_of(*next.run, cores));
      Json known = environment_;
      known["isolated"] = isolated_;
      run_id = store_.begin(next.run->key, Json{{"engine", known}}, directory, status.attempts);
      if (!run_id) {
        std::error_code ignored;
        std::filesystem::remove_all(directory, ignored);
        elsewhere_.push_back({next.run, next.number});
        return;
      }
      launch(next, *run_id, directory, std::move(cores));
    } catch (const std::exception& error) {
      // No folder, no process, no file descriptor: it costs this run. A store that fails, or two
      // signals while it is waited for, end all.
      const auto* known = dynamic_cast<const Error*>(&error);
      if (known != nullptr && known->kind() != ErrorKind::kInternal) throw;
      not_launched(next, run_id, directory, error.what());
    }
  }

  void not_launched(const Waiting& next, std::optional<int64_t> run_id,
                    const std::string& directory, const std::string& why) {
    const EndedRun ended{next.run,
                         {.state = RunState::kFailed, .error = "could not be started: " + why},
                         directory,
                         {}};
    if (run_id) store_.finish(*run_id, ended.events, ended.end);
    progress_.started(next.number, describe(*next.run), next.run->method_label);
    progress_.ended(next.number, ended.end.state, summary(ended.end, ended.events));
    count_failure(ended);
  }

  // What a worker is told of its run.
  WorkerTask task_of(const PlannedRun& run, const CorePool::Lease& cores) const {
    WorkerTask task{.run_key = run.key,
                    .config = run.config,
                    .place = {.data_dir = options_.data_dir,
                              .verify_data = options_.verify_data,
                              .rank_timeout_ns = sweep_.ranks.timeout.count()},
                    .isolated = isolated_,
                    .changed_files = changed_files_,
                    .cpus = cores.cpus(),
                    .memory_bytes = sweep_.memory_bytes,
                    .launcher = sweep_.ranks.launcher.value_or(Launcher::kMpirun),
                    .oversubscribe = sweep_.ranks.oversubscribe};
    if (const auto* python = python_of(run.config)) task.python = *python;
    if (is_job(run)) task.rank_cpus = cores.parts(run.config.ranks);
    if (run.config.purpose != Purpose::kAccuracy) return task;
    if (!sweep_.record_folder.empty()) {
      task.place.recording = {.folder = std::filesystem::absolute(sweep_.record_folder).string(),
                              .run_key = run.key,
                              .every_epochs = sweep_.record_epochs,
                              .every_steps = sweep_.record_steps};
    }
    if (sweep_.checkpoint_time.count() > 0 || sweep_.checkpoint_epochs > 0) {
      task.place.checkpoints = {.folder = checkpoint_directory(options_.db, run.key),
                                .every_ns = sweep_.checkpoint_time.count(),
                                .every_epochs = sweep_.checkpoint_epochs};
    }
    return task;
  }

  // Ranks have some apart from each other, where it is not their launcher that gives them.
  CorePool::Lease cores_for(const RunConfig& config) {
    const bool own = config.ranks == 1 ? apart_ : pins_ranks(sweep_.ranks);
    return own ? cores_.take(config.threads * config.ranks) : CorePool::Lease();
  }

  void launch(const Waiting& next, int64_t run_id, const std::string& directory,
              CorePool::Lease cores) {
    // Not make_unique: a worker cannot be moved to its place.
    workers_.emplace_back(new SupervisedRun{.run = next.run,
                                            .number = next.number,
                                            .retries = next.retries,
                                            .timed_again = next.timed_again,
                                            .run_id = run_id,
                                            .directory = directory,
                                            .clock = clock_,
                                            .output = OutputLog(directory + "/" + kOutputFile),
                                            .cores = std::move(cores)});
    progress_.started(next.number, describe(*next.run), next.run->method_label);
    if (options_.verbose) progress_.note(printable(directory));
  }

  // Until a signal or a worker has something to say, but no longer than that.
  void watch(std::chrono::milliseconds limit) const {
    std::vector<pollfd> watched = {{signals_.descriptor(), POLLIN, 0}};
    for (const auto& worker : workers_) {
      for (const int pipe : {worker->process.events(), worker->process.output()}) {
        if (pipe >= 0) watched.push_back({pipe, POLLIN, 0});
      }
    }
    poll(watched.data(), watched.size(), static_cast<int>(limit.count()));
    signals_.drain();
  }

  // What workers say, without an end of any.
  void hear(std::chrono::milliseconds limit) {
    watch(limit);
    for (const auto& worker : workers_) {
      read_events(*worker);
      worker->read_output();
      supervise(*worker);
    }
  }

  // While another process has the database: workers are heard, for their pipes would fill, and so
  // is whoever stops the sweep. No run is begun or ended here.
  void wait_for_store(std::chrono::milliseconds limit) {
    hear(limit);
    progress_.tick();
    if (signals_.stop_count() > 1) {
      progress_.note(
          "interrupted while another program had the database; the runs' reports are in their "
          "folders, and the next sweep takes them in");
      throw Exit{128 + signals_.stop_signal()};
    }
  }

  void wait() {
    watch(kLookAtRuns);
    memory_kills_.look(clock_.now());
    note_pause();
    // By index: reading an event may end in an exception, never in another worker.
    for (size_t i = 0; i < workers_.size(); ++i) {
      SupervisedRun& worker = *workers_[i];
      read_events(worker);
      worker.read_output();
      if (const auto process_end = worker.process.ended()) {
        worker.seen.process = *process_end;
        // What it wrote before it ended is in the pipes.
        while (read_events(worker)) {
        }
        while (worker.read_output()) {
        }
        const auto ended = std::move(workers_[i]);
        workers_.erase(workers_.begin() + static_cast<std::ptrdiff_t>(i));
        --i;
        end(*ended);
      } else {
        supervise(worker);
      }
    }
    progress_.tick();
  }

  bool read_events(SupervisedRun& worker) {
    return worker.read_events([&](const Json& event) { take(worker, event); });
  }

  void take(SupervisedRun& worker, const Json& event) {
    progress_.event(worker.number, event);
    if (event["event"] == "start") {
      worker.library_problem = library_.at_start(event);
      if (!worker.library_problem.empty()) worker.process.kill();
    }
    if (event["event"] != "note") return;
    const Json message = event.value("message", Json());
    const std::string text = message.is_string() ? message.get<std::string>() : message.dump();
    worker.output.add(text + "\n");
    progress_.note(fmt::format("{}: {}", describe(*worker.run), printable(text)));
  }

  void supervise(SupervisedRun& worker) {
    if (signals_.stop_count() > 1) {
      worker.process.kill();
    } else if (!worker.seen.asked_to_stop && (signals_.stop_count() == 1 || queue_.is_over())) {
      worker.seen.asked_to_stop = true;
      worker.ask_to_stop(signals_.stop_signal() == SIGINT ? SIGINT : SIGTERM, sweep_.grace);
    }
    worker.look_after(sweep_);
  }

  // Says that this process was paused, once for each pause.
  void note_pause() {
    const auto paused = clock_.paused() - std::exchange(paused_, clock_.paused());
    if (paused.count() == 0 || workers_.empty()) return;
    progress_.note(fmt::format("{}; no run is charged for that", paused_text(paused)));
  }

  void end(SupervisedRun& worker) {
    worker.events.finish([&](const Json& event) { take(worker, event); });
    if (worker.events.garbage() > 0) {
      const std::string note =
          fmt::format("{} lines that are no events were skipped", worker.events.garbage());
      worker.output.add(note + "\n");
      progress_.note(fmt::format("{}: {}", describe(*worker.run), note));
    }
    worker.seen.last = worker.events.last();
    worker.seen.output = worker.output.tail();
    worker.seen.out_of_memory =
        worker.seen.signal() == SIGKILL && memory_kills_.claim(clock_.now());
    // Its job removes its own, unless that was killed.
    if (is_job(*worker.run)) remove_stale_sessions(session_parent());
    if (worker.library_problem.empty()) {
      worker.library_problem = LibraryWatch::at_end(worker.seen, worker.library, library_state());
    }
    if (!worker.library_problem.empty()) return take_back_run(worker);
    worker.seen.paused = clock_.paused() - worker.paused_before;
    EndedRun ended{worker.run, end_of(worker.seen), worker.directory, worker.events.take_events()};
    if (worker.run->config.purpose == Purpose::kTiming) ended.end.taint = taint_of(worker.seen);
    store_.finish(worker.run_id, ended.events, ended.end);
    const CellStatus status = store_.status(ended.run->key);
    if (worker.timed_again > 0) {
      ++result.timed_again;
      vain_timings_ = status.tainted ? vain_timings_ + 1 : 0;
    }
    if (status.tainted && worker.timed_again < sweep_.timing_retries && !stopping()) {
      queue_.add(
          {worker.run, worker.number, status.attempts, worker.retries, worker.timed_again + 1});
      device_failures_ = 0;
      progress_.ended(worker.number, ended.end.state, "disturbed, to be timed again at the end");
      return;
    }
    result.tainted += status.tainted;
    if (is_result(ended.end.state)) remove_checkpoints(options_.db, ended.run->key);
    count(worker, ended);
    progress_.ended(worker.number, ended.end.state, summary(ended.end, ended.events));
  }

  // Stores nothing of a run by a library that this sweep did not begin with, or by none. Runs at
  // work by the right one come to their end, and no more are begun.
  void take_back_run(const SupervisedRun& worker) {
    store_.discard(worker.run_id);
    std::error_code ignored;
    std::filesystem::remove_all(worker.directory, ignored);
    // A disturbed timing that was to be made again stands as it did.
    const int64_t attempts = worker.timed_again > 0 ? store_.status(worker.run->key).attempts : -1;
    queue_.add_first({worker.run, worker.number, attempts, worker.retries, worker.timed_again});
    if (result.library_problem.empty()) result.library_problem = worker.library_problem;
    no_more_ = true;
    progress_.ended(worker.number, RunState::kInterrupted, "not stored");
  }

  void count(const SupervisedRun& worker, const EndedRun& ended) {
    const RunState state = ended.end.state;
    const bool device = worker.seen.last.is_object() && worker.seen.last.value("kind", Json()) ==
                                                            static_cast<int>(ErrorKind::kDevice);
    device_failures_ = device ? device_failures_ + 1 : 0;
    if (state == RunState::kFinished) {
      ++result.finished;
      queue_.learn(ended.run->config, std::chrono::duration<double>(worker.lasted()).count());
    }
    if (state == RunState::kDiverged) ++result.diverged;
    result.cut_off += state == RunState::kTimeout;
    if (is_result(state) || state == RunState::kTimeout) return;
    const bool from_outside =
        (state == RunState::kLost || state == RunState::kInterrupted) && !worker.seen.asked_to_stop;
    if (from_outside && worker.retries < kRetries && signals_.stop_count() == 0) {
      queue_.add_first({ended.run, worker.number, -1, worker.retries + 1, worker.timed_again});
      return;
    }
    if (worker.seen.asked_to_stop || (from_outside && signals_.stop_count() > 0)) {
      ++result.interrupted;
      return;
    }
    count_failure(ended);
    if (device_failures_ >= kDeviceFailures) result.device_lost = no_more_ = true;
  }

  void count_failure(const EndedRun& ended) {
    ++result.failed;
    result.failures.push_back({describe(*ended.run), std::string(name(ended.end.state)),
                               ended.end.error, printable(ended.directory)});
    if (sweep_.max_failures > 0 && result.failed >= sweep_.max_failures) no_more_ = true;
  }

  const GlobalOptions& options_;
  const SweepOptions& sweep_;
  RunStore& store_;
  const SignalScope& signals_;
  Progress& progress_;
  const std::vector<std::string> changed_files_;
  Json environment_ = program_environment();
  AwakeClock clock_{kLookAtRuns};
  std::chrono::nanoseconds paused_{0};  // that was said
  MemoryKills memory_kills_;
  RunQueue queue_;
  CorePool cores_;
  std::vector<Waiting> elsewhere_;
  std::vector<std::unique_ptr<SupervisedRun>> workers_;
  LibraryWatch library_;
  int64_t numbered_ = 0;
  int64_t device_failures_ = 0;
  int64_t vain_timings_ = 0;  // in a row
  bool no_more_ = false;
  bool isolated_ = false;
  bool apart_ = false;  // runs have cores of their own
};

}  // namespace

SweepResult run_experiment(const Experiment& experiment, const GlobalOptions& options,
                           const SweepOptions& given) {
  SweepOptions sweep = given;
  if (!sweep.network_db) check_is_local(options.db);
  check_recording(sweep, experiment);
  RunStore store = open_store(options);
  const SignalScope signals;
  // Nothing is at work yet, so that one signal ends a wait for another program's lock.
  store.set_pause([&](std::chrono::milliseconds pause) {
    signals.wait(pause);
    if (signals.stop_count() > 0) throw Exit{128 + signals.stop_signal()};
  });
  const int64_t lost = store.recover();
  const SweepLock at_work(options.db, experiment.id);
  const std::string other_source = store.other_source(experiment);
  store.add_experiment(experiment, options.command_line, Retire::kUnasked,
                       [&] { return at_work.others(); });

  const WorkLeft left = work_left(experiment, store, sweep.rerun);
  // Left by a coordinator that ended between the result and this.
  for (const auto* run : left.done) remove_checkpoints(options.db, run->key);
  std::vector<const PlannedRun*> to_do, all = left.elsewhere;
  for (const auto& [run, attempts] : left.to_do) to_do.push_back(run);
  all.insert(all.end(), to_do.begin(), to_do.end());
  sweep.ranks = checked_ranks(sweep.ranks, to_do);

  Progress progress(options.progress, static_cast<int64_t>(all.size()));
  if (lost > 0) {
    progress.note(fmt::format("{} of an earlier process that is gone",
                              lost == 1 ? "took up a run" : fmt::format("took up {} runs", lost)));
  }
  if (!other_source.empty()) {
    progress.note(fmt::format(
        "{} is the id of {} in {}, too: the runs of both stand in one table; give one another id",
        experiment.id, printable(other_source), options.db));
  }
  if (experiment.scale != Scale::kSmoke) {
    for (const auto& line : unreached_settings(to_do)) progress.note(line);
  }
  std::optional<TimingLock> timing_lock;
  const bool timing = std::ranges::any_of(
      all, [](const PlannedRun* run) { return run->config.purpose == Purpose::kTiming; });
  if (timing) {
    timing_lock = TimingLock::acquire([&] { return signals.stop_count() > 0; },
                                      [&](const std::string& text) { progress.note(text); });
  }
  const auto changed = changed_experiments(experiment.files);
  if (!changed.empty()) {
    progress.note(fmt::format("changed since the program was built: {}; runs are marked as dirty",
                              fmt::join(changed, ", ")));
  }
  Coordinator coordinator(options, sweep, store, signals, progress, changed,
                          RunQueue::within(sweep.budget, options.db));
  coordinator.result = left.before;
  for (const auto& [run, attempts] : left.to_do) coordinator.add(run, attempts);
  for (const auto* run : left.elsewhere) coordinator.add_elsewhere(run);
  coordinator.work(timing ? 1 : sweep.jobs, timing_lock.has_value());
  return coordinator.result;
}

}  // namespace approx
