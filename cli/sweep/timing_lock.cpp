#include "cli/sweep/timing_lock.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <thread>
#include <utility>

#include "base/error.h"
#include "cli/text.h"

namespace approx {

std::optional<TimingLock> TimingLock::acquire(const std::function<bool()>& give_up,
                                              const std::function<void(const std::string&)>& note) {
  using Clock = std::chrono::steady_clock;
  const char* runtime = std::getenv("XDG_RUNTIME_DIR");
  const std::string path = runtime != nullptr && *runtime == '/'
                               ? std::string(runtime) + "/approxtrain-timing.lock"
                               : fmt::format("/tmp/approxtrain-timing-{}.lock", getuid());
  Descriptor file(open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!file) {
    throw Error(ErrorKind::kInternal, fmt::format("{}: {}; timings need this lock file",
                                                  printable(path), std::strerror(errno)));
  }
  const auto since = Clock::now();
  bool told = false;
  while (flock(file.get(), LOCK_EX | LOCK_NB) != 0) {
    if (give_up()) return std::nullopt;
    if (!told && Clock::now() - since > std::chrono::seconds(2)) {
      note(fmt::format("waiting for another timing on this machine ({})", printable(path)));
      told = true;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
  }
  return TimingLock(std::move(file));
}

}  // namespace approx
