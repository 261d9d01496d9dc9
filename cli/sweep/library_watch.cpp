#include "cli/sweep/library_watch.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include "cli/process/event_log.h"
#include "cli/text.h"

namespace approx {
namespace {

// For a worker that was not told to end.
bool has_crashed(const Observed& worker) {
  return worker.last.is_null() && !worker.asked_to_stop && worker.overdue.why.empty();
}

bool has_result(const Observed& worker) {
  return worker.last.is_object() && worker.last.value("event", Json()) == "final";
}

}  // namespace

bool FileState::is_overwritten(const FileState& now) const {
  return !path.empty() && path == now.path && device == now.device && inode == now.inode &&
         *this != now;
}

FileState file_state(const std::string& path) {
  struct stat status {};
  if (path.empty() || ::stat(path.c_str(), &status) != 0) return {};
  constexpr int64_t kSecond = 1'000'000'000;
  return {.path = path,
          .device = status.st_dev,
          .inode = status.st_ino,
          .size = status.st_size,
          .changed_ns = kSecond * status.st_mtim.tv_sec + status.st_mtim.tv_nsec};
}

std::string LibraryWatch::at_start(const Json& start) {
  const std::string id = library_of(start);
  if (first_.empty()) first_ = id;
  if (id.empty() || id == first_) return "";
  return fmt::format(
      "the library was replaced by another build during the sweep ({:.12}, then {:.12})", first_,
      id);
}

std::string LibraryWatch::at_end(const Observed& worker, const FileState& then,
                                 const FileState& now) {
  if (worker.last.is_object() && worker.last.value(kOfLibrary, Json()) == true) {
    const Json message = worker.last.value("message", Json());
    return message.is_string() ? printable(message.get<std::string>())
                               : std::string("the library does not open");
  }
  if (has_crashed(worker) && then != now) {
    return fmt::format("{} was replaced while a run was at work, whose worker crashed",
                       printable(then.path.empty() ? now.path : then.path));
  }
  if (has_result(worker) && then.is_overwritten(now)) {
    return fmt::format("{} was overwritten while a run computed with it", printable(then.path));
  }
  return "";
}

}  // namespace approx
