#include "cli/sweep/process.h"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <fstream>
#include <utility>

#include "base/error.h"
#include "cli/sweep/protocol.h"

namespace approx {
namespace {

// Its ends to read, which does not wait, and to write.
std::pair<Descriptor, Descriptor> make_pipe() {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) {
    throw Error(ErrorKind::kInternal, fmt::format("pipe: {}", std::strerror(errno)));
  }
  fcntl(ends[0], F_SETFL, O_NONBLOCK);
  return {Descriptor(ends[0]), Descriptor(ends[1])};
}

}  // namespace

WorkerProcess::WorkerProcess(const std::string& directory) {
  auto [events_in, events_out] = make_pipe();
  auto [output_in, output_out] = make_pipe();
  const Descriptor nothing(open("/dev/null", O_RDONLY | O_CLOEXEC));
  const char* const arguments[] = {"approxtrain", "train", "--worker", directory.c_str(), nullptr};
  const pid_t parent = getpid();
  const pid_t child = fork();
  if (child < 0) {
    throw Error(ErrorKind::kInternal, fmt::format("fork: {}", std::strerror(errno)));
  }
  if (child == 0) {
    // Only calls that are safe between fork and exec.
    setpgid(0, 0);  // the terminal's signals reach the coordinator, which passes them on
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
  pid_ = child;
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

bool WorkerProcess::read_some(Descriptor& pipe, const Use& use) {
  if (!pipe) return false;
  static std::array<char, 65536> buffer;
  const ssize_t count = read(pipe.get(), buffer.data(), buffer.size());
  if (count > 0) {
    use(std::string_view(buffer.data(), static_cast<size_t>(count)));
    return true;
  }
  const bool later = count < 0 && (errno == EAGAIN || errno == EINTR);
  if (!later) pipe.close();
  return false;
}

int64_t oom_kills() {
  std::ifstream own("/proc/self/cgroup");
  std::string line;
  while (std::getline(own, line)) {
    if (!line.starts_with("0::")) continue;
    std::ifstream events("/sys/fs/cgroup" + line.substr(3) + "/memory.events");
    std::string key;
    int64_t value = 0;
    while (events >> key >> value) {
      if (key == "oom_kill") return value;
    }
  }
  return -1;
}

}  // namespace approx
