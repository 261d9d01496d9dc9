#include "cli/process/worker_process.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>

#include "base/error.h"
#include "cli/process/pipe.h"
#include "cli/process/protocol.h"

namespace approx {
namespace {

// What a worker inherits. A spawn and not a fork: that copies the tables of all memory that the
// plan of a large sweep takes, for every run anew.
class Spawning {
 public:
  Spawning(const Descriptor& input, const Descriptor& output, const Descriptor& events) {
    posix_spawn_file_actions_init(&files_);
    posix_spawn_file_actions_adddup2(&files_, input.get(), STDIN_FILENO);
    posix_spawn_file_actions_adddup2(&files_, output.get(), STDOUT_FILENO);
    posix_spawn_file_actions_adddup2(&files_, output.get(), STDERR_FILENO);
    posix_spawn_file_actions_adddup2(&files_, events.get(), kWorkerEvents);
    posix_spawnattr_init(&attributes_);
    // The terminal's signals reach the coordinator, which passes them on.
    posix_spawnattr_setpgroup(&attributes_, 0);
    sigset_t usual;
    sigemptyset(&usual);
    for (const int number : {SIGPIPE, SIGINT, SIGTERM, SIGHUP, SIGUSR1}) {
      sigaddset(&usual, number);
    }
    posix_spawnattr_setsigdefault(&attributes_, &usual);
    // Until the worker can answer it: a batch system sends its signals to every process of a job.
    const sigset_t held = worker_signals();
    posix_spawnattr_setsigmask(&attributes_, &held);
    posix_spawnattr_setflags(
        &attributes_, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK);
  }
  ~Spawning() {
    posix_spawnattr_destroy(&attributes_);
    posix_spawn_file_actions_destroy(&files_);
  }
  Spawning(const Spawning&) = delete;
  Spawning& operator=(const Spawning&) = delete;

  // This program with other arguments. Throws Error(kInternal).
  pid_t start(const char* const* arguments) const {
    pid_t child = 0;
    const int failure = posix_spawn(&child, "/proc/self/exe", &files_, &attributes_,
                                    const_cast<char* const*>(arguments), environ);
    if (failure != 0) {
      throw Error(ErrorKind::kInternal, fmt::format("spawn: {}", std::strerror(failure)));
    }
    return child;
  }

 private:
  posix_spawn_file_actions_t files_;
  posix_spawnattr_t attributes_;
};

}  // namespace

WorkerProcess::WorkerProcess(const std::string& directory, WorkerKind kind) {
  auto [events_in, events_out] = make_pipe();
  auto [output_in, output_out] = make_pipe();
  const Descriptor nothing(open("/dev/null", O_RDONLY | O_CLOEXEC));
  const char* const flag = kind == WorkerKind::kJob ? "--job" : "--worker";
  const char* const arguments[] = {"approxtrain", "train", flag, directory.c_str(), nullptr};
  pid_ = Spawning(nothing, output_out, events_out).start(arguments);
  events_ = std::move(events_in);
  output_ = std::move(output_in);
}

WorkerProcess::~WorkerProcess() {
  if (pid_ < 0) return;
  kill();
  waitpid(pid_, nullptr, 0);
}

void WorkerProcess::send(int signal) const { ::kill(pid_, signal); }

void WorkerProcess::kill() const { ::kill(-pid_, SIGKILL); }

std::optional<ProcessEnd> WorkerProcess::ended() {
  // Its group is killed while its number is still its own: one that was waited for may be
  // another's.
  siginfo_t info{};
  if (waitid(P_PID, static_cast<id_t>(pid_), &info, WEXITED | WNOHANG | WNOWAIT) != 0 ||
      info.si_pid != pid_) {
    return std::nullopt;
  }
  kill();
  int status = 0;
  waitpid(pid_, &status, 0);
  pid_ = -1;
  ProcessEnd end;
  if (WIFEXITED(status)) end.exit_code = WEXITSTATUS(status);
  if (WIFSIGNALED(status)) end.signal = WTERMSIG(status);
  return end;
}

}  // namespace approx
