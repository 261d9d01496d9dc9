#include "core/python/interpreter.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>

#include "base/error.h"

namespace approx {
namespace {

// The descriptors of the interpreter (python/src/approxtrain/_worker.py).
constexpr int kSocket = 3, kMemory = 4;
constexpr int kFirstOwn = 10;  // of ours: beyond those two, so that none is overwritten

Error system_error(const char* what) {
  return Error(ErrorKind::kInternal, fmt::format("{}: {}", what, std::strerror(errno)));
}

Descriptor moved_up(int descriptor, const char* what) {
  const Descriptor old(descriptor);
  if (!old) throw system_error(what);
  Descriptor moved(fcntl(old.get(), F_DUPFD_CLOEXEC, kFirstOwn));
  if (!moved) throw system_error(what);
  return moved;
}

pid_t start(const PythonFile& file, const Descriptor& socket, const Descriptor& memory) {
  posix_spawn_file_actions_t files;
  posix_spawn_file_actions_init(&files);
  posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  // What the file prints is no part of this program's output.
  posix_spawn_file_actions_adddup2(&files, STDERR_FILENO, STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&files, socket.get(), kSocket);
  posix_spawn_file_actions_adddup2(&files, memory.get(), kMemory);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  sigset_t none, usual;
  sigemptyset(&none);
  sigemptyset(&usual);
  for (const int number : {SIGPIPE, SIGTERM, SIGHUP, SIGUSR1}) sigaddset(&usual, number);
  posix_spawnattr_setsigmask(&attributes, &none);
  posix_spawnattr_setsigdefault(&attributes, &usual);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
  // -B: it writes no compiled files beside the package.
  const char* const arguments[] = {file.executable.c_str(), "-B", file.worker.c_str(), nullptr};
  pid_t child = -1;
  const int failure = posix_spawnp(&child, file.executable.c_str(), &files, &attributes,
                                   const_cast<char* const*>(arguments), environ);
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&files);
  if (failure == 0) return child;
  throw usage_error("{} does not start ({}): name the interpreter by --python-executable",
                    file.executable, std::strerror(failure));
}

}  // namespace

Interpreter::Interpreter(const PythonFile& file, int64_t threads)
    : path_(file.path),
      shared_(moved_up(memfd_create("approxtrain", MFD_CLOEXEC), "memfd_create")) {
  std::array<int, 2> ends{-1, -1};
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) != 0) {
    throw system_error("socketpair");
  }
  socket_ = moved_up(ends[0], "socketpair");
  Descriptor theirs = moved_up(ends[1], "socketpair");
  child_ = start(file, theirs, shared_);
  // Else the end of the child would not be seen.
  theirs.close();
  try {
    description_ = answer({{"path", file.path}, {"text", file.text}, {"threads", threads}});
    if (const auto error = description_.find("error"); error != description_.end()) {
      throw usage_error("{}: {}", path_, error->get<std::string>());
    }
  } catch (...) {
    end_child();
    throw;
  }
}

Interpreter::~Interpreter() {
  if (memory_ != nullptr) munmap(memory_, bytes_);
  end_child();
}

void Interpreter::end_child() {
  if (child_ <= 0) return;
  // It may be inside a user's function, where it would not see the end of the socket.
  kill(child_, SIGKILL);
  waitpid(child_, nullptr, 0);
  child_ = -1;
}

void* Interpreter::memory(size_t bytes) {
  if (bytes <= bytes_) return memory_;
  if (ftruncate(shared_.get(), static_cast<off_t>(bytes)) != 0) throw system_error("ftruncate");
  void* const mapped = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, shared_.get(), 0);
  if (mapped == MAP_FAILED) throw system_error("mmap");
  if (memory_ != nullptr) munmap(memory_, bytes_);
  memory_ = mapped;
  bytes_ = bytes;
  return memory_;
}

void Interpreter::call(const Json& request) {
  const Json result = answer(request);
  const auto error = result.find("error");
  if (error != result.end()) throw Error(ErrorKind::kInternal, error->get<std::string>());
}

Json Interpreter::answer(const Json& request) {
  std::string line;
  try {
    line = request.dump() + "\n";
  } catch (const Json::exception&) {
    throw usage_error("{}: the file is not UTF-8", path_);
  }
  for (size_t sent = 0; sent < line.size();) {
    const auto done = send(socket_.get(), line.data() + sent, line.size() - sent, MSG_NOSIGNAL);
    if (done < 0 && errno == EINTR) continue;
    if (done < 0) throw_ended();
    sent += static_cast<size_t>(done);
  }
  try {
    return Json::parse(read_line());
  } catch (const Json::exception&) {
    throw Error(ErrorKind::kInternal,
                fmt::format("{}: its Python interpreter gives no answer that can be read; does the "
                            "file write to descriptor {}?",
                            path_, kSocket));
  }
}

std::string Interpreter::read_line() {
  while (true) {
    if (const auto end = unread_.find('\n'); end != std::string::npos) {
      std::string line = unread_.substr(0, end);
      unread_.erase(0, end + 1);
      return line;
    }
    std::array<char, 4096> piece;
    const auto got = read(socket_.get(), piece.data(), piece.size());
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) throw_ended();
    unread_.append(piece.data(), static_cast<size_t>(got));
  }
}

void Interpreter::throw_ended() {
  int status = 0;
  std::string how = "ended";
  if (waitpid(child_, &status, 0) == child_) {
    if (WIFEXITED(status)) how = fmt::format("ended with exit code {}", WEXITSTATUS(status));
    if (WIFSIGNALED(status)) how = fmt::format("was ended by signal {}", WTERMSIG(status));
  }
  child_ = -1;
  if (description_.is_null()) {
    throw usage_error(
        "{}: its Python interpreter {} before it had read the file; see its own "
        "message above",
        path_, how);
  }
  throw Error(ErrorKind::kInternal, fmt::format("{}: its Python interpreter {}", path_, how));
}

}  // namespace approx
