// The signals of a process that has workers: the user's that stop it, the system's that a worker
// ended.
#pragma once

#include <array>
#include <chrono>
#include <csignal>

namespace approx {

// Our handlers for as long as the object lives; one at a time. A signal that the caller had ignored
// (nohup) stays ignored; SIGPIPE is, so that a terminal that closes does not end a sweep.
class SignalScope {
 public:
  SignalScope();
  ~SignalScope();
  SignalScope(const SignalScope&) = delete;
  SignalScope& operator=(const SignalScope&) = delete;

  // How often SIGINT, SIGTERM or SIGHUP came, and which was the last, 0 for none. SIGUSR1 asks to
  // stop as well and is never the second that ends all at once: a batch system sends it ahead of
  // what it sends in any case, as often as it likes.
  int stop_count() const;
  int stop_signal() const;

  // So long, or until any signal came.
  void wait(std::chrono::milliseconds limit) const;

  // Readable as soon as any signal came, until it is drained.
  int descriptor() const;
  void drain() const;

 private:
  static constexpr std::array kSignals = {SIGINT, SIGTERM, SIGHUP, SIGUSR1, SIGCHLD, SIGPIPE};
  std::array<struct sigaction, kSignals.size()> before_{};
};

}  // namespace approx
