#include "cli/ranks/job.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/awake_clock.h"
#include "base/error.h"
#include "base/files.h"
#include "cli/process/disturbance.h"
#include "cli/process/event_log.h"
#include "cli/process/pipe.h"
#include "cli/process/protocol.h"
#include "cli/process/run_process.h"
#include "cli/ranks/job_end.h"
#include "cli/ranks/launch.h"
#include "cli/ranks/rank.h"
#include "cli/ranks/session_folder.h"
#include "cli/text.h"
#include "results/store/event_reader.h"

namespace approx {
namespace {

// Between two looks at the launcher, at most.
constexpr std::chrono::milliseconds kLook{1000};
// From the last that rank 0 said to the end of all ranks.
constexpr std::chrono::seconds kPatience{20};
constexpr size_t kLongestLine = 500;

// What a job listens to.
sigset_t job_signals() {
  sigset_t signals = worker_signals();
  sigaddset(&signals, SIGHUP);  // the coordinator is gone: the system sends it
  sigaddset(&signals, SIGCHLD);
  return signals;
}

// Whether the system lets processes of one user read each other's memory: a container's may not.
bool may_read_memory() {
  const char from = 'x';
  char to = 0;
  iovec there{.iov_base = const_cast<char*>(&from), .iov_len = 1};
  iovec here{.iov_base = &to, .iov_len = 1};
  return process_vm_readv(getpid(), &here, 1, &there, 1, 0) == 1;
}

// Ends all children of this process, and those that become its own because their parent ended.
void end_children() {
  while (true) {
    const auto path = fmt::format("/proc/self/task/{}/children", getpid());
    if (std::FILE* children = std::fopen(path.c_str(), "re")) {
      for (int pid = 0; std::fscanf(children, "%d", &pid) == 1;) ::kill(pid, SIGKILL);
      std::fclose(children);
    }
    if (waitpid(-1, nullptr, 0) < 0 && errno == ECHILD) return;
  }
}

// The launcher: a process with its input held open, and two pipes. It does not outlive this object,
// nor do its ranks.
class LauncherProcess {
 public:
  explicit LauncherProcess(const LaunchRequest& request) {
    auto [input_in, input_out] = make_pipe();
    fcntl(input_in.get(), F_SETFL, 0);
    auto [events_in, events_out] = make_pipe();
    auto [said_in, said_out] = make_pipe();
    const auto words = launch_words(request);
    const auto variables = launch_environment(request);
    std::vector<char*> arguments;
    for (const auto& word : words) arguments.push_back(const_cast<char*>(word.c_str()));
    arguments.push_back(nullptr);
    // A fork and not a spawn, for the signal that its parent's death is to be.
    const pid_t parent = getpid();
    pid_ = fork();
    if (pid_ < 0) {
      throw Error(ErrorKind::kInternal, fmt::format("fork: {}", std::strerror(errno)));
    }
    if (pid_ == 0) {
      prctl(PR_SET_PDEATHSIG, SIGKILL);
      if (getppid() != parent) _exit(1);
      dup2(input_in.get(), STDIN_FILENO);
      dup2(events_out.get(), STDOUT_FILENO);
      dup2(said_out.get(), STDERR_FILENO);
      for (const auto& [name, value, ours] : variables) {
        value ? setenv(name.c_str(), value->c_str(), ours ? 1 : 0) : unsetenv(name.c_str());
      }
      // A batch system tells every process of a job to end; mpirun would end all ranks for it.
      sigset_t held;
      sigemptyset(&held);
      sigaddset(&held, SIGINT);
      sigaddset(&held, SIGTERM);
      sigprocmask(SIG_SETMASK, &held, nullptr);
      execvp(arguments[0], arguments.data());
      std::fprintf(stderr, "%s: %s\n", arguments[0], std::strerror(errno));
      _exit(127);
    }
    input_ = std::move(input_out);
    events_ = std::move(events_in);
    said_ = std::move(said_in);
  }

  ~LauncherProcess() { end_children(); }
  LauncherProcess(const LauncherProcess&) = delete;
  LauncherProcess& operator=(const LauncherProcess&) = delete;

  Descriptor& events() { return events_; }  // what rank 0 reports
  Descriptor& said() { return said_; }      // what the launcher itself prints

  void kill(int signal) const {
    if (pid_ > 0) ::kill(pid_, signal);
  }

  // Takes note of its end; whether it ended.
  bool ended() {
    int status = 0;
    if (pid_ < 0 || waitpid(pid_, &status, WNOHANG) != pid_) return pid_ < 0;
    pid_ = -1;
    if (WIFEXITED(status)) end_.exit_code = WEXITSTATUS(status);
    if (WIFSIGNALED(status)) end_.signal = WTERMSIG(status);
    return true;
  }

  const ProcessEnd& end() const { return end_; }

 private:
  pid_t pid_ = -1;  // -1: ended
  ProcessEnd end_;
  Descriptor input_, events_, said_;
};

// The whole lines of what a pipe brings, of each no more than its beginning.
class Lines {
 public:
  template <typename Use>
  void add(std::string_view bytes, const Use& use) {
    for (const char c : bytes) {
      if (c == '\n') {
        use(std::exchange(line_, {}));
      } else if (line_.size() < kLongestLine) {
        line_ += c;
      }
    }
  }

 private:
  std::string line_;
};

RankLeft left_by(const std::string& directory, int64_t rank) {
  constexpr int64_t kTail = 4096;
  RankLeft left;
  std::FILE* const log = std::fopen(rank_log(directory, rank).c_str(), "re");
  if (log != nullptr) {
    std::fseek(log, 0, SEEK_END);
    std::fseek(log, std::max<long>(0, std::ftell(log) - kTail), SEEK_SET);
    std::string text(kTail, '\0');
    text.resize(std::fread(text.data(), 1, text.size(), log));
    std::fclose(log);
    while (text.ends_with('\n')) text.pop_back();
    left.last_line = printable(text.substr(text.rfind('\n') + 1).substr(0, kLongestLine));
  }
  try {
    EventReader reader;
    const auto bytes = read_file(rank_error_file(directory, rank), int64_t{1} << 20);
    reader.add({reinterpret_cast<const char*>(bytes.data()), bytes.size()}, [](const Json&) {});
    left.problem = reader.last();
  } catch (const Error&) {  // it left none
  }
  return left;
}

LaunchRequest request_for(const WorkerTask& task, const std::string& directory,
                          const std::string& session_folder) {
  const bool here = task.launcher == Launcher::kMpirun;
  // On this machine the very program that runs now, whatever a build has put in its place.
  const std::string program = here ? fmt::format("/proc/{}/exe", getpid())
                                   : std::filesystem::read_symlink("/proc/self/exe").string();
  return {.launcher = task.launcher,
          .ranks = task.config.ranks,
          .threads = task.config.threads,
          .oversubscribe = task.oversubscribe,
          .session_folder = session_folder,
          .single_copy = may_read_memory(),
          .as_root = geteuid() == 0,
          .command = {program, "train", "--worker", std::filesystem::absolute(directory).string(),
                      "--as-rank"}};
}

std::unique_ptr<Disturbance> disturbance_of(const WorkerTask& task) {
  if (task.config.purpose != Purpose::kTiming) return nullptr;
  return std::make_unique<Disturbance>(Disturbance::Computing::kChildren);
}

class Job {
 public:
  Job(const std::string& directory, const WorkerTask& task, EventLog& log, int signals)
      : directory_(directory),
        task_(task),
        log_(log),
        signals_(signals),
        disturbance_(disturbance_of(task)),
        lines_(task.launcher),
        launcher_(request_for(task, directory, session_.path())) {}

  // The event that the run ends with; nothing where nobody is there to hear it.
  std::optional<Json> run() {
    while (!launcher_.ended()) {
      if (!wait()) return std::nullopt;
    }
    while (read_events()) {
    }
    while (read_said()) {
    }
    end_children();
    if (events_.garbage() > 0) {
      log_.write({{"event", "note"},
                  {"message", fmt::format("rank 0: {} lines that are no events were skipped",
                                          events_.garbage())}});
    }
    Json last = end_of_job({.launcher = task_.launcher,
                            .process = launcher_.end(),
                            .failure = lines_.failure(),
                            .last = events_.last(),
                            .said = said_},
                           [&](int64_t rank) { return left_by(directory_, rank); });
    if (last["event"] == "final" && disturbance_) {
      log_.write(core_wait_event(last, *disturbance_));
      add_taints(last, *disturbance_);
    }
    return last;
  }

 private:
  // Whether to go on.
  bool wait() {
    const auto readable = [](int descriptor) {
      return pollfd{.fd = descriptor, .events = POLLIN, .revents = 0};
    };
    std::array watched = {readable(signals_), readable(launcher_.events().get()),
                          readable(launcher_.said().get())};
    poll(watched.data(), watched.size(), static_cast<int>(kLook.count()));
    signalfd_siginfo signal{};
    while (read(signals_, &signal, sizeof signal) == sizeof signal) {
      if (signal.ssi_signo == SIGHUP) return false;
      if (signal.ssi_signo != SIGCHLD) launcher_.kill(SIGUSR1);
    }
    read_events();
    read_said();
    // A rank that hangs once rank 0 has said its last takes nothing from that.
    const auto now = clock_.now();
    if (!last_at_ && !events_.last().is_null()) last_at_ = now;
    if (last_at_ && now - *last_at_ > kPatience) launcher_.kill(SIGKILL);
    return true;
  }

  bool read_events() {
    return read_some(launcher_.events(), [&](std::string_view bytes) {
      events_.add(bytes, [&](const Json& event) {
        if (event["event"] != "final" && event["event"] != "error") log_.write(event);
      });
    });
  }

  bool read_said() {
    return read_some(launcher_.said(), [&](std::string_view bytes) {
      write_all(STDERR_FILENO, to_bytes(bytes));
      said_lines_.add(bytes, [&](const std::string& line) {
        lines_.add(line);
        if (!line.empty()) said_ = printable(line);
      });
    });
  }

  const std::string& directory_;
  const WorkerTask& task_;
  EventLog& log_;
  const int signals_;
  const std::unique_ptr<Disturbance> disturbance_;  // of a timing
  SessionFolder session_{session_parent()};
  LauncherLines lines_;
  LauncherProcess launcher_;
  EventReader events_;
  Lines said_lines_;
  std::string said_;  // the last line
  AwakeClock clock_{kLook};
  std::optional<AwakeClock::time_point> last_at_;
};

}  // namespace

int run_job(const std::string& directory) {
  const sigset_t heard = job_signals();
  sigset_t held = heard;
  sigaddset(&held, SIGPIPE);  // of a coordinator that is gone
  sigprocmask(SIG_BLOCK, &held, nullptr);
  // Not by SIGKILL, as a worker: its ranks are to end before it does.
  prctl(PR_SET_PDEATHSIG, SIGHUP);
  prctl(PR_SET_CHILD_SUBREAPER, 1);
  const auto lock = take_run(directory);
  if (!lock) return static_cast<int>(ErrorKind::kInternal);
  std::optional<EventLog> log;
  Json problem;
  try {
    const Descriptor signals(signalfd(-1, &heard, SFD_NONBLOCK | SFD_CLOEXEC));
    log.emplace(directory + "/" + kEventsFile);
    remove_stale_sessions(session_parent());
    const WorkerTask task = read_task(directory);
    std::optional<Json> last;
    {
      Job job(directory, task, *log, signals.get());
      last = job.run();
    }
    if (!last) return static_cast<int>(ErrorKind::kInternal);
    if ((*last)["event"] == "final") {
      log->write(*last);
      return 0;
    }
    problem = *last;
  } catch (const Error& error) {
    problem = error_event(error.kind(), error.what(), RunState::kFailed);
  } catch (const std::exception& error) {
    problem = error_event(ErrorKind::kInternal, error.what(), RunState::kFailed);
  }
  end_with(problem, log ? &*log : nullptr);
}

}  // namespace approx
