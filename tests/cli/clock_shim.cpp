// Loaded before a program (LD_PRELOAD), steps its clocks: APPROXTRAIN_CLOCKS is a file that holds
// how many seconds the time of day is ahead, and how many the machine slept.
#include <dlfcn.h>
#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <ctime>

namespace {

struct Steps {
  long day_s = 0, slept_s = 0;
};

Steps steps() {
  static const char* const path = std::getenv("APPROXTRAIN_CLOCKS");
  Steps steps;
  if (path == nullptr) return steps;
  char text[64] = {};
  const long file = syscall(SYS_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC);
  if (file < 0) return steps;
  if (syscall(SYS_read, file, text, sizeof text - 1) > 0) {
    std::sscanf(text, "%ld %ld", &steps.day_s, &steps.slept_s);
  }
  syscall(SYS_close, file);
  return steps;
}

}  // namespace

extern "C" int clock_gettime(clockid_t clock, timespec* now) noexcept {
  using Function = int(clockid_t, timespec*);
  static auto* const next = reinterpret_cast<Function*>(dlsym(RTLD_NEXT, "clock_gettime"));
  const int result = next(clock, now);
  if (clock == CLOCK_REALTIME) now->tv_sec += steps().day_s;
  if (clock == CLOCK_BOOTTIME) now->tv_sec += steps().slept_s;
  return result;
}
