#include "cli/process/signals.h"

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "base/error.h"

namespace approx {
namespace {

// A handler reaches nothing but globals.
volatile sig_atomic_t last_stop_signal = 0;
volatile sig_atomic_t stop_signals_seen = 0;
volatile sig_atomic_t warned = 0;  // by SIGUSR1
int wake_pipe[2] = {-1, -1};

void on_signal(int number) {
  if (number == SIGUSR1) {
    if (last_stop_signal == 0) last_stop_signal = number;
    warned = 1;
  } else if (number != SIGCHLD) {
    last_stop_signal = number;
    stop_signals_seen = stop_signals_seen + 1;
  }
  const int kept = errno;
  const char byte = 0;
  // A full pipe wakes as well.
  [[maybe_unused]] const ssize_t written = write(wake_pipe[1], &byte, 1);
  errno = kept;
}

}  // namespace

SignalScope::SignalScope() {
  last_stop_signal = 0;
  stop_signals_seen = 0;
  warned = 0;
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

SignalScope::~SignalScope() {
  for (size_t i = 0; i < kSignals.size(); ++i) sigaction(kSignals[i], &before_[i], nullptr);
  close(wake_pipe[0]);
  close(wake_pipe[1]);
}

int SignalScope::stop_count() const { return stop_signals_seen > 0 ? stop_signals_seen : warned; }
int SignalScope::stop_signal() const { return last_stop_signal; }
int SignalScope::descriptor() const { return wake_pipe[0]; }

void SignalScope::wait(std::chrono::milliseconds limit) const {
  pollfd pipe{wake_pipe[0], POLLIN, 0};
  poll(&pipe, 1, static_cast<int>(limit.count()));
  drain();
}

void SignalScope::drain() const {
  char drained[64];
  while (read(wake_pipe[0], drained, sizeof drained) > 0) {
  }
}

}  // namespace approx
