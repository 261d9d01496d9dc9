#include "cli/process/event_log.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <system_error>

#include "cli/process/protocol.h"
#include "cli/text.h"

namespace approx {
namespace {

void write_line(int descriptor, std::string_view line, const std::string& what) {
  if (const auto error = write_all(descriptor, to_bytes(line))) {
    throw Error(ErrorKind::kInternal,
                fmt::format("{}: {} ({} bytes to write); free some space and run again",
                            printable(what), error.message(), line.size()));
  }
}

}  // namespace

EventLog::EventLog(const std::string& path) : path_(path) {
  if (path.empty()) return;
  file_ = Descriptor(open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666));
  std::error_code error(file_ ? 0 : errno, std::generic_category());
  // Without its name a log that is on the disk would be lost with the power.
  if (!error) error = sync_folder(std::filesystem::absolute(path).parent_path().string());
  if (error) {
    throw Error(ErrorKind::kInternal, fmt::format("{}: {}", printable(path_), error.message()));
  }
}

void EventLog::write(const Json& event) {
  const std::string line = event_line(event);
  const std::string kind = event.value("event", "");
  if (file_ && kind != "progress") {
    write_line(file_.get(), line, path_);
    if ((kind == "final" || kind == "error") && fsync(file_.get()) != 0) {
      throw Error(ErrorKind::kInternal,
                  fmt::format("{}: {}", printable(path_), std::strerror(errno)));
    }
  }
  write_line(kWorkerEvents, line, "the pipe to the coordinator");
}

Json error_event(ErrorKind kind, const std::string& message, RunState state) {
  return Json{{"event", "error"},
              {"kind", static_cast<int>(kind)},
              {"message", printable(message)},
              {"state", name(state)}};
}

void end_with(const Json& problem, EventLog* log) {
  try {
    if (log != nullptr) log->write(problem);
  } catch (const Error& error) {
    const std::string line = event_line(problem);
    if (::write(kWorkerEvents, line.data(), line.size()) < 0) {
      std::fprintf(stderr, "%s\n", error.what());
    }
  }
  std::fprintf(stderr, "%s\n", problem["message"].get<std::string>().c_str());
  std::fflush(nullptr);
  _exit(problem["kind"].get<int>());
}

}  // namespace approx
