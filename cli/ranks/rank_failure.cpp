#include "cli/ranks/rank_failure.h"

#include <algorithm>
#include <csignal>
#include <cstring>

#include "base/numbers.h"
#include "base/text.h"

namespace approx {
namespace {

// Takes `prefix` off the front of a text, if it begins so.
bool take(std::string_view& text, std::string_view prefix) {
  if (!text.starts_with(prefix)) return false;
  text.remove_prefix(prefix.size());
  return true;
}

// Takes the whole number off the front of a text.
std::optional<int64_t> take_number(std::string_view& text) {
  const size_t digits = text.substr(0, text.find_first_not_of("0123456789")).size();
  const auto number = parse_integer(text.substr(0, digits), 0);
  if (number) text.remove_prefix(digits);
  return number;
}

// The signal that the system calls so ("Killed").
std::optional<int> signal_called(std::string_view text) {
  for (int number = 1; number < NSIG; ++number) {
    if (text == strsignal(number)) return number;
  }
  return std::nullopt;
}

}  // namespace

void LauncherLines::add(std::string_view line) {
  if (failure_) return;
  launcher_ == Launcher::kMpirun ? add_mpirun(line) : add_srun(line);
}

// "mpirun noticed that process rank 1 with PID 12 on node n exited on signal 9 (Killed).", or
//   Process name: [[24870,1],1]
//   Exit code:    3
void LauncherLines::add_mpirun(std::string_view line) {
  line = trim(line);
  constexpr std::string_view kNoticed = " noticed that process rank ", kSignal = " on signal ";
  if (const auto noticed = line.find(kNoticed); noticed != std::string_view::npos) {
    line.remove_prefix(noticed + kNoticed.size());
    const auto rank = take_number(line);
    const auto by = line.find(kSignal);
    if (!rank || by == std::string_view::npos) return;
    line.remove_prefix(by + kSignal.size());
    if (const auto signal = take_number(line)) {
      failure_ = RankFailure{.rank = *rank, .signal = static_cast<int>(*signal)};
    }
  } else if (take(line, "Process name: [[")) {
    line.remove_prefix(std::min(line.size(), line.rfind(',') + 1));
    named_ = take_number(line);
  } else if (named_ && take(line, "Exit code:")) {
    line = trim(line);
    if (const auto code = take_number(line)) {
      failure_ = RankFailure{.rank = *named_, .exit_code = static_cast<int>(*code)};
    }
  }
}

// "srun: error: NODE: task 1: Killed", "srun: error: NODE: tasks 0-2,5: Exited with exit code 3".
void LauncherLines::add_srun(std::string_view line) {
  line = trim(line);
  if (!take(line, "srun: error: ")) return;
  const auto node = line.find(": task");
  if (node == std::string_view::npos) return;
  line.remove_prefix(node + std::string_view(": task").size());
  take(line, "s");
  if (!take(line, " ")) return;
  const auto rank = take_number(line);  // of several the first
  const auto how = line.find(": ");
  if (!rank || how == std::string_view::npos) return;
  line.remove_prefix(how + 2);
  if (take(line, "Exited with exit code ")) {
    if (const auto code = take_number(line)) {
      failure_ = RankFailure{.rank = *rank, .exit_code = static_cast<int>(*code)};
    }
  } else if (line == "Out Of Memory") {
    failure_ = RankFailure{.rank = *rank, .out_of_memory = true};
  } else if (const auto signal = signal_called(line.substr(0, line.find(" (core dumped)")))) {
    failure_ = RankFailure{.rank = *rank, .signal = *signal};
  }
}

}  // namespace approx
