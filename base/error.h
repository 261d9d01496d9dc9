// The one exception type of the project. Errors are checked once, at a boundary (a file, a flag, a
// kernel's entry). They carry one line that says what is wrong, where, and what to do. Only
// cli/main.cpp catches them; it turns their kind into the exit code of the process.
#pragma once

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace approx {

// The values are the documented exit codes of the process (docs/cli.md). They are never re-used.
enum class ErrorKind {
  kInternal = 1,      // a fault of this program
  kUsage = 2,         // a flag, an experiment file, a method's parameter
  kCells = 3,         // the sweep has ended, and some of its runs failed
  kGate = 4,          // a check that the user asked for failed
  kData = 5,          // a data set is missing, truncated or altered
  kDatabase = 6,      // the database is locked, corrupt or too new
  kDevice = 7,        // a device is missing or lost
  kInterrupted = 130  // SIGINT
};

class Error : public std::runtime_error {
 public:
  Error(ErrorKind kind, const std::string& message) : std::runtime_error(message), kind_(kind) {}

  ErrorKind kind() const { return kind_; }

  // This error with a place in front: `table5.toml:12:3: layers = "2::x": expected ...`.
  Error in(std::string_view place) const {
    return Error(kind_, fmt::format("{}: {}", place, what()));
  }

 private:
  ErrorKind kind_;
};

template <typename... Args>
Error usage_error(fmt::format_string<Args...> format, Args&&... args) {
  return Error(ErrorKind::kUsage, fmt::format(format, std::forward<Args>(args)...));
}

template <typename... Args>
Error data_error(fmt::format_string<Args...> format, Args&&... args) {
  return Error(ErrorKind::kData, fmt::format(format, std::forward<Args>(args)...));
}

template <typename... Args>
Error database_error(fmt::format_string<Args...> format, Args&&... args) {
  return Error(ErrorKind::kDatabase, fmt::format(format, std::forward<Args>(args)...));
}

// The member of `valid` nearest to `word` by edit distance, or "" where none is a likely
// correction. The distance may be up to a third of the word's length, and always 1.
std::string nearest(std::string_view word, const std::vector<std::string>& valid);

// ` (did you mean "x"?)`, or "" where nothing is near.
std::string did_you_mean(std::string_view word, const std::vector<std::string>& valid);

}  // namespace approx
