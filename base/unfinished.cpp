#include "base/unfinished.h"

#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <climits>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <mutex>
#include <utility>

namespace approx {
namespace {

// Signals that end a process by default, and come from outside or from a write.
constexpr std::array kSignals = {SIGINT,  SIGTERM, SIGHUP,  SIGQUIT, SIGPIPE,
                                 SIGXCPU, SIGXFSZ, SIGUSR1, SIGUSR2, SIGALRM};

// A handler reaches nothing but globals, and allocates nothing.
struct Slot {
  std::atomic<bool> used = false;
  std::array<char, PATH_MAX> path{};
};
std::array<Slot, 8> slots;

std::mutex slots_mutex;  // of what follows, and of taking a slot
int held = 0;

void remove_all() {
  // Folders last: they are empty then.
  for (const auto& slot : slots) {
    if (slot.used) ::unlink(slot.path.data());
  }
  for (const auto& slot : slots) {
    if (slot.used) ::rmdir(slot.path.data());
  }
}

// SA_RESETHAND: the signal that is raised again ends the process as it would have.
void on_signal(int number) {
  const int kept = errno;
  remove_all();
  errno = kept;
  ::raise(number);
}

// Only signals that would end the process: who ignores or handles one comes to the destructor.
void set_handlers(bool ours) {
  for (const int number : kSignals) {
    struct sigaction now {};
    if (sigaction(number, nullptr, &now) != 0) continue;
    const bool is_ours = (now.sa_flags & SA_SIGINFO) == 0 && now.sa_handler == on_signal;
    if (ours ? now.sa_handler != SIG_DFL : !is_ours) continue;
    struct sigaction action {};
    action.sa_handler = ours ? on_signal : SIG_DFL;
    action.sa_flags = ours ? static_cast<int>(SA_RESETHAND) : 0;
    sigaction(number, &action, nullptr);
  }
}

int take_slot(const std::string& path) {
  if (path.size() >= PATH_MAX) return -1;
  const std::lock_guard lock(slots_mutex);
  for (size_t i = 0; i < slots.size(); ++i) {
    if (slots[i].used) continue;
    std::memcpy(slots[i].path.data(), path.c_str(), path.size() + 1);
    slots[i].used = true;
    if (held++ == 0) set_handlers(true);
    return static_cast<int>(i);
  }
  return -1;
}

void free_slot(int slot) {
  if (slot < 0) return;
  const std::lock_guard lock(slots_mutex);
  slots[static_cast<size_t>(slot)].used = false;
  if (--held == 0) set_handlers(false);
}

}  // namespace

Unfinished::Unfinished(std::string path) : path_(std::move(path)), slot_(take_slot(path_)) {}

Unfinished::~Unfinished() {
  if (!kept_) std::remove(path_.c_str());
  free_slot(slot_);
}

void Unfinished::keep() {
  kept_ = true;
  free_slot(std::exchange(slot_, -1));
}

std::string unfinished_name(const std::string& path) {
  constexpr size_t kRoom = NAME_MAX - 12;   // a dot and the longest number
  const size_t name = path.rfind('/') + 1;  // 0 without a folder
  return fmt::format("{}.{}", path.substr(0, name + kRoom), ::getpid());
}

}  // namespace approx
