// The signals of a process with workers: the user's, which stop it, and the system's when a worker
// ends.
#pragma once

#include <array>
#include <chrono>
#include <csignal>

namespace approx {

// Installs our handlers for the life of the object; only one object at a time. A signal that the
// caller ignored (nohup) stays ignored. SIGPIPE is ignored, so that a closed terminal does not end
// a sweep.
class SignalScope {
 public:
  SignalScope();
  ~SignalScope();
  SignalScope(const SignalScope&) = delete;
  SignalScope& operator=(const SignalScope&) = delete;

  // stop_count: how often SIGINT, SIGTERM or SIGHUP came. stop_signal: the last of them, 0 for
  // none. SIGUSR1 also asks to stop, but is never the second signal that ends all at once. A batch
  // system sends it as an early warning, perhaps several times.
  int stop_count() const;
  int stop_signal() const;

  // Waits for `limit`, or until any signal comes.
  void wait(std::chrono::milliseconds limit) const;

  // A descriptor that is readable once any signal came, until drain().
  int descriptor() const;
  void drain() const;

 private:
  static constexpr std::array kSignals = {SIGINT, SIGTERM, SIGHUP, SIGUSR1, SIGCHLD, SIGPIPE};
  std::array<struct sigaction, kSignals.size()> before_{};
};

}  // namespace approx
