#include "cli/sweep/coordinator.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <deque>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <set>
#include <thread>
#include <utility>

#include "base/error.h"
#include "cli/environment.h"
#include "cli/sweep/progress.h"
#include "cli/sweep/timing_lock.h"
#include "cli/sweep/worker.h"
#include "cli/text.h"
#include "results/store/run_lock.h"

namespace approx {
namespace {

using Clock = std::chrono::steady_clock;
namespace fs = std::filesystem;

// Bounds on what a worker that has gone wild can make us keep.
constexpr size_t kLongestEvent = size_t{32} << 20;  // a "final" with 2 million step times
constexpr size_t kMostEvents = size_t{64} << 20;    // bytes of events kept for one run
constexpr size_t kDeepestEvent = 16;
constexpr size_t kLongestLog = size_t{1} << 20;
constexpr size_t kTailLines = 50;
constexpr size_t kTailLine = 500;
constexpr int64_t kRetries = 2;  // of a run whose worker was killed from outside
constexpr int64_t kDeviceFailures = 3;
constexpr auto kFarewell = std::chrono::seconds(2);  // for a worker whose coordinator is gone

volatile sig_atomic_t stop_signal = 0;
volatile sig_atomic_t stop_count = 0;
int wake_pipe[2] = {-1, -1};

void on_signal(int number) {
  if (number != SIGCHLD) {
    stop_signal = number;
    stop_count = stop_count + 1;
  }
  const int kept = errno;
  const char byte = 0;
  // A full pipe wakes as well.
  [[maybe_unused]] const ssize_t written = write(wake_pipe[1], &byte, 1);
  errno = kept;
}

// Our handlers for as long as the object lives. A signal that the caller had
// ignored (nohup) stays ignored; SIGPIPE is, so that a terminal that closes
// does not end a sweep.
class SignalScope {
 public:
  SignalScope() {
    stop_signal = 0;
    stop_count = 0;
    if (pipe2(wake_pipe, O_CLOEXEC | O_NONBLOCK) != 0) {
      throw Error(ErrorKind::kInternal, fmt::format("pipe: {}", std::strerror(errno)));
    }
    for (size_t i = 0; i < kSignals.size(); ++i) {
      struct sigaction action {};
      action.sa_handler = kSignals[i] == SIGPIPE ? SIG_IGN : on_signal;
      sigaction(kSignals[i], nullptr, &before_[i]);
      const bool stays = before_[i].sa_handler == SIG_IGN && kSignals[i] != SIGCHLD;
      if (!stays) sigaction(kSignals[i], &action, nullptr);
    }
  }
  SignalScope(const SignalScope&) = delete;
  SignalScope& operator=(const SignalScope&) = delete;
  ~SignalScope() {
    for (size_t i = 0; i < kSignals.size(); ++i) sigaction(kSignals[i], &before_[i], nullptr);
    close(wake_pipe[0]);
    close(wake_pipe[1]);
  }

 private:
  static constexpr std::array<int, 5> kSignals = {SIGINT, SIGTERM, SIGHUP, SIGCHLD, SIGPIPE};
  std::array<struct sigaction, 5> before_{};
};

class Descriptor {
 public:
  explicit Descriptor(int value = -1) : value_(value) {}
  Descriptor(Descriptor&& other) noexcept : value_(std::exchange(other.value_, -1)) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    std::swap(value_, other.value_);
    return *this;
  }
  ~Descriptor() { reset(); }
  void reset() {
    if (value_ >= 0) close(value_);
    value_ = -1;
  }
  int get() const { return value_; }

 private:
  int value_;
};

std::pair<Descriptor, Descriptor> make_pipe() {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) {
    throw Error(ErrorKind::kInternal, fmt::format("pipe: {}", std::strerror(errno)));
  }
  fcntl(ends[0], F_SETFL, O_NONBLOCK);
  return {Descriptor(ends[0]), Descriptor(ends[1])};
}

// How often the kernel has killed a process of our cgroup for its memory; -1
// where it cannot say.
int64_t oom_kills() {
  std::ifstream own("/proc/self/cgroup");
  std::string line;
  while (std::getline(own, line)) {
    if (line.rfind("0::", 0) != 0) continue;
    std::ifstream events("/sys/fs/cgroup" + line.substr(3) + "/memory.events");
    std::string key;
    int64_t value = 0;
    while (events >> key >> value) {
      if (key == "oom_kill") return value;
    }
  }
  return -1;
}

// A JSON text that nests deeper than any event does would cost far more memory
// than its length.
bool too_deep(std::string_view text) {
  size_t depth = 0;
  bool quoted = false;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (quoted) {
      if (c == '\\') ++i;
      if (c == '"') quoted = false;
    } else if (c == '"') {
      quoted = true;
    } else if (c == '[' || c == '{') {
      if (++depth > kDeepestEvent) return true;
    } else if ((c == ']' || c == '}') && depth > 0) {
      --depth;
    }
  }
  return false;
}

// What a worker prints: the first part in a file of its run directory, the last
// lines in memory.
class OutputLog {
 public:
  explicit OutputLog(std::string path) : path_(std::move(path)) {}

  void add(std::string_view bytes) {
    if (written_ == 0 && !bytes.empty()) file_.open(path_, std::ios::binary);
    if (written_ < kLongestLog) {
      const auto room = std::min(bytes.size(), kLongestLog - written_);
      file_.write(bytes.data(), static_cast<std::streamsize>(room));
      written_ += room;
      if (written_ == kLongestLog) file_ << "\n[more output was left out]\n";
      file_.flush();
    }
    for (const char c : bytes) {
      if (c == '\n') {
        end_line();
      } else if (line_.size() < kTailLine) {
        line_ += c;
      }
    }
  }

  std::vector<std::string> tail() {
    end_line();
    return {tail_.begin(), tail_.end()};
  }

 private:
  void end_line() {
    if (!line_.empty()) tail_.push_back(printable(line_));
    if (tail_.size() > kTailLines) tail_.pop_front();
    line_.clear();
  }

  std::string path_, line_;
  std::ofstream file_;
  size_t written_ = 0;
  std::deque<std::string> tail_;
};

struct Worker {
  const PlannedRun* run = nullptr;
  int64_t number = 0;
  pid_t pid = -1;
  Descriptor events_pipe, output_pipe;
  std::string directory;
  OutputLog output{""};
  std::string line;            // of events, not complete yet
  bool skipping_line = false;  // longer than kLongestEvent
  std::vector<Json> events;
  size_t events_bytes = 0;
  int64_t garbage = 0;
  int64_t run_id = 0;
  Clock::time_point started, last_event;
  std::optional<Clock::time_point> kill_at;
  int64_t oom_kills_before = -1;
  Observed seen;
};

void remove_checkpoints(const std::string& db, const std::string& run_key) {
  std::error_code ignored;
  fs::remove_all(checkpoint_directory(db, run_key), ignored);
}

// A run that ended during the sweep.
struct EndedRun {
  const PlannedRun* run = nullptr;
  RunEnd end;
  std::string directory;
  std::vector<Json> events;  // as the worker reported them, progress left out
};

class Coordinator {
 public:
  Coordinator(const GlobalOptions& options, const SweepOptions& sweep, RunStore& store,
              Progress& progress)
      : options_(options), sweep_(sweep), store_(store), progress_(progress) {}

  ~Coordinator() {
    // Only on the way out of an exception: no worker outlives its coordinator.
    for (auto& worker : workers_) {
      kill(-worker->pid, SIGKILL);
      waitpid(worker->pid, nullptr, 0);
    }
  }
  Coordinator(const Coordinator&) = delete;
  Coordinator& operator=(const Coordinator&) = delete;

  // A run to be done, of which there have been `attempts`.
  void add(const PlannedRun* run, int64_t attempts) {
    queue_.push_back({run, ++numbered_, attempts});
  }

  // A run that another process has now.
  void add_elsewhere(const PlannedRun* run) { elsewhere_.push_back({run, ++numbered_}); }

  void work(int64_t jobs, bool isolated) {
    isolated_ = isolated;
    const auto patience = Clock::now() + kFarewell;
    do {
      while (true) {
        while (!stopping() && static_cast<int64_t>(workers_.size()) < jobs && !queue_.empty()) {
          const Waiting next = queue_.front();
          queue_.pop_front();
          start(next);
        }
        if (workers_.empty()) break;
        wait();
      }
    } while (!stopping() && take_back(patience));
    result.elsewhere = static_cast<int64_t>(elsewhere_.size());
    result.not_started = static_cast<int64_t>(queue_.size());
    result.signal = stop_signal;
  }

  SweepResult result;

 private:
  struct Waiting {
    const PlannedRun* run;
    int64_t number;
    // There were when it was decided to do it, whatever its state. -1: only if it has no result.
    int64_t attempts = -1;
    int64_t retries = 0;  // of this sweep
  };

  bool stopping() const { return stop_count > 0 || no_more_; }

  // Puts back runs that another process had, and has no more: a worker whose
  // coordinator was killed needs a moment to go, and its run is ours then.
  // Whether there is something to do.
  bool take_back(Clock::time_point patience) {
    while (!elsewhere_.empty()) {
      store_.recover();
      for (const auto& waiting : std::exchange(elsewhere_, {})) {
        const bool held = store_.status(waiting.run->key).state == RunState::kRunning;
        (held ? elsewhere_ : queue_).push_back(waiting);
      }
      if (!queue_.empty()) return true;
      if (stopping() || Clock::now() > patience) return false;
      std::this_thread::sleep_for(std::chrono::milliseconds(100));
    }
    return false;
  }

  void start(const Waiting& next) {
    // Another sweep on the same store may have done it meanwhile.
    const CellStatus status = store_.status(next.run->key);
    if (status.state == RunState::kRunning) {
      elsewhere_.push_back({next.run, next.number});
      return;
    }
    // --rerun means the state that a run had when this sweep began, not what it came to since; and
    // the state of a run that this sweep tries once more says so itself (lost, interrupted).
    if (status.attempts != next.attempts && !needs_run(status, {})) {
      ++(is_result(status.state) ? result.done_before : result.failed_before);
      return;
    }
    auto worker = std::make_unique<Worker>();
    worker->run = next.run;
    worker->number = next.number;
    worker->directory = make_directory(next.run->key, status.attempts + 1);
    worker->output = OutputLog(worker->directory + "/" + kOutputFile);
    write_task(*worker);
    Json known = environment_;
    known["isolated"] = isolated_;
    const auto run_id =
        store_.begin(next.run->key, Json{{"engine", known}}, worker->directory, status.attempts);
    if (!run_id) {
      std::error_code ignored;
      fs::remove_all(worker->directory, ignored);
      elsewhere_.push_back({next.run, next.number});
      return;
    }
    worker->run_id = *run_id;
    retries_[next.run->key] = next.retries;
    worker->oom_kills_before = oom_kills();
    spawn(*worker);
    progress_.started(next.number, describe(*next.run));
    if (options_.verbose) progress_.note(printable(worker->directory));
    workers_.push_back(std::move(worker));
  }

  std::string make_directory(const std::string& key, int64_t attempt) const {
    const std::string parent = runs_directory(options_.db);
    std::error_code error;
    fs::create_directories(parent, error);
    // A directory that is there already belongs to an attempt that never came
    // to be recorded.
    for (int64_t number = attempt; !error; ++number) {
      const std::string path = fmt::format("{}/{}-{}", parent, key.substr(0, 12), number);
      if (mkdir(path.c_str(), 0777) == 0) return path;
      if (errno != EEXIST) error = std::error_code(errno, std::generic_category());
    }
    throw Error(ErrorKind::kInternal,
                fmt::format("{}: {}; the folder beside the database must be writable",
                            printable(parent), error.message()));
  }

  void write_task(const Worker& worker) const {
    Json task = {{"run_key", worker.run->key},
                 {"config", worker.run->config},
                 {"data_dir", options_.data_dir},
                 {"verify_data", options_.verify_data},
                 {"isolated", isolated_}};
    const bool checkpoints = sweep_.checkpoint_time.count() > 0 || sweep_.checkpoint_epochs > 0;
    if (checkpoints && worker.run->config.purpose == Purpose::kAccuracy) {
      task["checkpoints"] = {{"folder", checkpoint_directory(options_.db, worker.run->key)},
                             {"every_ns", sweep_.checkpoint_time.count()},
                             {"every_epochs", sweep_.checkpoint_epochs}};
    }
    const std::string path = worker.directory + "/" + kConfigFile;
    std::ofstream out(path);
    out << task.dump(1, ' ', false, Json::error_handler_t::replace) << "\n";
    out.close();
    if (!out) {
      throw Error(ErrorKind::kInternal, fmt::format("{}: {}; free some space and run again",
                                                    printable(path), std::strerror(errno)));
    }
  }

  static void spawn(Worker& worker) {
    auto [events_in, events_out] = make_pipe();
    auto [output_in, output_out] = make_pipe();
    const Descriptor nothing(open("/dev/null", O_RDONLY | O_CLOEXEC));
    const std::string directory = worker.directory;
    const char* const arguments[] = {"approxtrain", "train", "--worker", directory.c_str(),
                                     nullptr};
    const pid_t parent = getpid();
    const pid_t child = fork();
    if (child < 0) {
      throw Error(ErrorKind::kInternal, fmt::format("fork: {}", std::strerror(errno)));
    }
    if (child == 0) {
      // Only calls that are safe between fork and exec.
      setpgid(0, 0);  // the terminal's signals reach the coordinator, which
                      // passes them on
      prctl(PR_SET_PDEATHSIG, SIGKILL);
      if (getppid() != parent) _exit(1);
      for (const int number : {SIGPIPE, SIGINT, SIGTERM, SIGHUP}) signal(number, SIG_DFL);
      dup2(nothing.get(), STDIN_FILENO);
      dup2(output_out.get(), STDOUT_FILENO);
      dup2(output_out.get(), STDERR_FILENO);
      dup2(events_out.get(), kWorkerEvents);
      fcntl(kWorkerEvents, F_SETFD, 0);
      execv("/proc/self/exe", const_cast<char* const*>(arguments));
      _exit(127);
    }
    setpgid(child, child);
    worker.pid = child;
    worker.events_pipe = std::move(events_in);
    worker.output_pipe = std::move(output_in);
    worker.started = worker.last_event = Clock::now();
  }

  void wait() {
    std::vector<pollfd> watched = {{wake_pipe[0], POLLIN, 0}};
    for (const auto& worker : workers_) {
      for (const auto* pipe : {&worker->events_pipe, &worker->output_pipe}) {
        if (pipe->get() >= 0) watched.push_back({pipe->get(), POLLIN, 0});
      }
    }
    poll(watched.data(), watched.size(), 100);
    char drained[64];
    while (read(wake_pipe[0], drained, sizeof drained) > 0) {
    }
    // By index: reading an event may end in an exception, never in another
    // worker.
    for (size_t i = 0; i < workers_.size(); ++i) {
      Worker& worker = *workers_[i];
      read_events(worker);
      read_output(worker);
      if (reap(worker)) {
        // What it wrote before it ended is in the pipes.
        while (read_events(worker)) {
        }
        while (read_output(worker)) {
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

  static bool reap(Worker& worker) {
    int status = 0;
    if (waitpid(worker.pid, &status, WNOHANG) != worker.pid) return false;
    if (WIFEXITED(status)) worker.seen.exit_code = WEXITSTATUS(status);
    if (WIFSIGNALED(status)) worker.seen.signal = WTERMSIG(status);
    // Whatever it started itself.
    kill(-worker.pid, SIGKILL);
    return true;
  }

  // One read; whether there may be more.
  template <typename Use>
  static bool read_some(Descriptor& pipe, const Use& use) {
    if (pipe.get() < 0) return false;
    static std::array<char, 65536> buffer;
    const ssize_t count = read(pipe.get(), buffer.data(), buffer.size());
    if (count > 0) {
      use(std::string_view(buffer.data(), static_cast<size_t>(count)));
      return true;
    }
    const bool later = count < 0 && (errno == EAGAIN || errno == EINTR);
    if (!later) pipe.reset();
    return false;
  }

  static bool read_output(Worker& worker) {
    return read_some(worker.output_pipe, [&](std::string_view bytes) { worker.output.add(bytes); });
  }

  bool read_events(Worker& worker) {
    return read_some(worker.events_pipe, [&](std::string_view bytes) {
      while (!bytes.empty()) {
        const size_t end = bytes.find('\n');
        const std::string_view part = bytes.substr(0, end);
        if (!worker.skipping_line) worker.line += part;
        if (worker.line.size() > kLongestEvent) {
          worker.skipping_line = true;
          worker.line.clear();
          worker.line.shrink_to_fit();
        }
        if (end == std::string_view::npos) return;
        take_line(worker);
        bytes.remove_prefix(end + 1);
      }
    });
  }

  void take_line(Worker& worker) {
    static const std::set<std::string> known = {"start", "progress", "metric", "layer",
                                                "block", "note",     "final",  "error"};
    const std::string line = std::exchange(worker.line, {});
    const bool skipped = std::exchange(worker.skipping_line, false);
    Json event;
    if (!skipped && !too_deep(line)) event = Json::parse(line, nullptr, /*allow_exceptions=*/false);
    const auto kind = event.is_object() ? event.value("event", Json()) : Json();
    if (!kind.is_string() || !known.contains(kind.get<std::string>()) ||
        worker.events_bytes + line.size() > kMostEvents || !worker.seen.last.is_null()) {
      ++worker.garbage;
      return;
    }
    worker.last_event = Clock::now();
    progress_.event(worker.number, event);
    if (kind == "progress") return;
    if (kind == "note") {
      const Json message = event.value("message", Json());
      const std::string text = message.is_string() ? message.get<std::string>() : message.dump();
      worker.output.add(text + "\n");
      progress_.note(fmt::format("{}: {}", describe(*worker.run), printable(text)));
      return;
    }
    if (kind == "final" || kind == "error") worker.seen.last = event;
    worker.events_bytes += line.size();
    worker.events.push_back(event);
  }

  void supervise(Worker& worker) {
    const auto now = Clock::now();
    if (stop_count > 1) {
      kill(-worker.pid, SIGKILL);
    } else if (stop_count == 1 && !worker.seen.asked_to_stop) {
      worker.seen.asked_to_stop = true;
      ask_to_stop(worker, stop_signal == SIGINT ? SIGINT : SIGTERM);
    }
    if (worker.seen.overdue.empty() && !worker.seen.asked_to_stop) {
      if (sweep_.timeout.count() > 0 && now - worker.started > sweep_.timeout) {
        worker.seen.overdue =
            fmt::format("not done after {} (--timeout)", format_duration(sweep_.timeout));
      } else if (sweep_.stall_timeout.count() > 0 &&
                 now - worker.last_event > sweep_.stall_timeout) {
        worker.seen.overdue = fmt::format("no sign of life for {} (--stall-timeout)",
                                          format_duration(sweep_.stall_timeout));
      }
      if (!worker.seen.overdue.empty()) ask_to_stop(worker, SIGTERM);
    }
    if (worker.kill_at && now > *worker.kill_at) kill(-worker.pid, SIGKILL);
  }

  void ask_to_stop(Worker& worker, int number) {
    kill(worker.pid, number);
    if (!worker.kill_at) worker.kill_at = Clock::now() + sweep_.grace;
  }

  void end(Worker& worker) {
    if (!worker.line.empty() || worker.skipping_line) take_line(worker);
    if (worker.garbage > 0) {
      const std::string note =
          fmt::format("{} lines that are no events were skipped", worker.garbage);
      worker.output.add(note + "\n");
      progress_.note(fmt::format("{}: {}", describe(*worker.run), note));
    }
    worker.seen.output = worker.output.tail();
    worker.seen.out_of_memory =
        worker.oom_kills_before >= 0 && oom_kills() > worker.oom_kills_before;
    EndedRun ended{worker.run, judge(worker.seen), worker.directory, std::move(worker.events)};
    store_.finish(worker.run_id, ended.events, ended.end);
    result.tainted += store_.status(ended.run->key).tainted;
    if (is_result(ended.end.state)) remove_checkpoints(options_.db, ended.run->key);
    count(worker, ended);
    progress_.ended(worker.number, ended.end.state, summary(ended));
  }

  void count(const Worker& worker, const EndedRun& ended) {
    const std::string& state = ended.end.state;
    const bool device = worker.seen.last.is_object() && worker.seen.last.value("kind", Json()) ==
                                                            static_cast<int>(ErrorKind::kDevice);
    device_failures_ = device ? device_failures_ + 1 : 0;
    if (state == RunState::kFinished) ++result.finished;
    if (state == RunState::kDiverged) ++result.diverged;
    if (is_result(state)) return;
    const bool from_outside =
        (state == RunState::kLost || state == RunState::kInterrupted) && !worker.seen.asked_to_stop;
    const int64_t retries = retries_[ended.run->key];
    if (from_outside && retries < kRetries && stop_count == 0) {
      queue_.push_front({ended.run, worker.number, -1, retries + 1});
      return;
    }
    if (worker.seen.asked_to_stop) {
      ++result.interrupted;
      return;
    }
    ++result.failed;
    if (result.first_failure.empty()) {
      result.first_failure = fmt::format("{}: {}: {} (see {})", describe(*ended.run), state,
                                         ended.end.error, printable(ended.directory));
    }
    if (sweep_.max_failures > 0 && result.failed >= sweep_.max_failures) no_more_ = true;
    if (device_failures_ >= kDeviceFailures) result.device_lost = no_more_ = true;
  }

  static std::string summary(const EndedRun& ended) {
    if (!ended.end.error.empty()) return ended.end.error;
    std::string text;
    for (const auto& event : ended.events) {
      if (event.value("event", Json()) == "metric" && event.value("name", Json()) == "accuracy" &&
          event.value("split", Json()) != "train" && event.value("value", Json()).is_number()) {
        text = fmt::format("accuracy {:.2f} %", 100 * event["value"].get<double>());
      }
    }
    return text;
  }

  const GlobalOptions& options_;
  const SweepOptions& sweep_;
  RunStore& store_;
  Progress& progress_;
  const Json environment_ = program_environment();
  std::deque<Waiting> queue_, elsewhere_;
  std::vector<std::unique_ptr<Worker>> workers_;
  std::map<std::string, int64_t> retries_;
  int64_t numbered_ = 0;
  int64_t device_failures_ = 0;
  bool no_more_ = false;
  bool isolated_ = false;
};

}  // namespace

bool is_result(const std::string& state) {
  return state == RunState::kFinished || state == RunState::kDiverged;
}

bool needs_run(const CellStatus& status, const std::vector<std::string>& rerun) {
  const std::string& state = status.state;
  if (state.empty() || state == RunState::kInterrupted || state == RunState::kLost) return true;
  const auto asked = [&rerun](const std::string& word) {
    return std::find(rerun.begin(), rerun.end(), word) != rerun.end();
  };
  return asked(state) || (status.tainted && asked(kTainted));
}

RunEnd judge(const Observed& worker) {
  RunEnd end;
  end.exit_code = worker.exit_code;
  end.signal = worker.signal;
  const auto text = [&](const char* key) {
    const auto value = worker.last.is_object() ? worker.last.value(key, Json()) : Json();
    return value.is_string() ? value.get<std::string>() : std::string();
  };
  const std::string kind = text("event");
  const std::string state = text("state");
  if (kind == "final" && is_result(state)) {
    end.state = state;
    return end;
  }
  if (!worker.overdue.empty()) {
    end.state = RunState::kTimeout;
    end.error = worker.overdue;
    return end;
  }
  if (worker.asked_to_stop || (kind == "final" && state == RunState::kInterrupted)) {
    end.state = RunState::kInterrupted;
    end.error = worker.asked_to_stop ? "" : "its process was asked to stop";
    return end;
  }
  end.state = RunState::kFailed;
  if (kind == "error") {
    if (state == RunState::kOom) end.state = RunState::kOom;
    end.error = printable(text("message"));
    return end;
  }
  if (kind == "final") {
    end.error = fmt::format("its final event has the unknown state \"{}\"", printable(state));
    return end;
  }
  if (worker.signal) {
    end.error = fmt::format("killed by signal {} ({})", *worker.signal, strsignal(*worker.signal));
    if (*worker.signal == SIGKILL || *worker.signal == SIGTERM) end.state = RunState::kLost;
    if (*worker.signal == SIGKILL && worker.out_of_memory) end.state = RunState::kOom;
  } else {
    end.error =
        fmt::format("exited with code {} and without a final event", worker.exit_code.value_or(-1));
  }
  if (!worker.output.empty())
    end.error += fmt::format("; output: {}", fmt::join(worker.output, " | "));
  return end;
}

std::string runs_directory(const std::string& db) {
  return fs::path(db).replace_extension().string() + ".runs";
}

std::string checkpoint_directory(const std::string& db, const std::string& run_key) {
  return fs::absolute(fmt::format("{}/{}.checkpoint", runs_directory(db), run_key.substr(0, 12)))
      .string();
}

std::string describe(const PlannedRun& run) {
  std::string text = run.method_label;
  if (!run.schedule_label.empty()) text += ", " + run.schedule_label;
  return fmt::format("{}, {}, {}, seed {}", text, run.network_label, run.config.dataset,
                     run.config.seed);
}

RunStore open_store(const GlobalOptions& options) {
  if (options.default_db) {
    // The user's data folder need not be there yet; a folder that the user
    // named must be.
    std::error_code ignored;
    fs::create_directories(fs::path(options.db).parent_path(), ignored);
  }
  StoreOptions store;
  store.notice = [](const std::string& message) {
    std::fputs(("approxtrain: " + message + "\n").c_str(), stderr);
  };
  try {
    return RunStore(options.db, RunStore::Mode::kWrite, store);
  } catch (const fs::filesystem_error& error) {
    throw database_error("{}: {}", printable(options.db), error.code().message());
  }
}

SweepResult run_experiment(const Experiment& experiment, const std::string& command_line,
                           const GlobalOptions& options, const SweepOptions& sweep) {
  RunStore store = open_store(options);
  const SignalScope signals;
  const int64_t lost = store.recover();
  store.add_experiment(experiment, command_line);

  SweepResult before;
  std::vector<std::pair<const PlannedRun*, int64_t>> todo;
  std::vector<const PlannedRun*> elsewhere;
  std::set<std::string> keys;
  bool timing = false;
  for (const auto& run : experiment.runs) {
    if (!run.excluded.empty()) {
      ++before.excluded;
      continue;
    }
    if (!keys.insert(run.key).second) continue;
    const CellStatus status = store.status(run.key);
    if (status.state == RunState::kRunning) {
      elsewhere.push_back(&run);
    } else if (needs_run(status, sweep.rerun)) {
      todo.emplace_back(&run, status.attempts);
    } else {
      ++(is_result(status.state) ? before.done_before : before.failed_before);
      before.tainted += status.tainted;
      // Left by a coordinator that ended between the result and this.
      if (is_result(status.state)) remove_checkpoints(options.db, run.key);
      continue;
    }
    timing = timing || run.config.purpose == Purpose::kTiming;
  }

  Progress progress(options.progress, static_cast<int64_t>(todo.size() + elsewhere.size()));
  if (lost > 0) {
    progress.note(fmt::format("{} of an earlier process that is gone",
                              lost == 1 ? "took up a run" : fmt::format("took up {} runs", lost)));
  }
  std::optional<TimingLock> timing_lock;
  if (timing) {
    timing_lock = TimingLock::acquire([] { return stop_count > 0; },
                                      [&](const std::string& text) { progress.note(text); });
  }
  Coordinator coordinator(options, sweep, store, progress);
  coordinator.result = before;
  for (const auto& [run, attempts] : todo) coordinator.add(run, attempts);
  for (const auto* run : elsewhere) coordinator.add_elsewhere(run);
  coordinator.work(timing ? 1 : sweep.jobs, timing_lock.has_value());
  return coordinator.result;
}

}  // namespace approx
