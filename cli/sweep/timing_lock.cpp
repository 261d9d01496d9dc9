#include "cli/sweep/timing_lock.h"

#include <fmt/format.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <thread>
#include <utility>

#include "base/digest.h"
#include "base/error.h"

namespace approx {
namespace {

struct Address {
  explicit Address(const std::string& name) {
    // Its first byte is zero: no file.
    const size_t length = std::min(name.size(), sizeof(of.sun_path) - 1);
    std::copy_n(name.begin(), length, of.sun_path + 1);
    size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + length);
  }

  const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&of); }

  sockaddr_un of{.sun_family = AF_UNIX, .sun_path = {}};
  socklen_t size = 0;
};

Descriptor make_socket() {
  Descriptor made(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!made) {
    throw Error(ErrorKind::kInternal,
                fmt::format("no socket for the timing lock: {}", std::strerror(errno)));
  }
  return made;
}

// "process 1234 of user 1000", of whoever holds the name.
std::string holder(const Address& address) {
  const Descriptor asking = make_socket();
  ucred who{};
  socklen_t size = sizeof(who);
  if (::connect(asking.get(), address.get(), address.size) != 0 ||
      ::getsockopt(asking.get(), SOL_SOCKET, SO_PEERCRED, &who, &size) != 0) {
    return "an unknown process";
  }
  return fmt::format("process {} of user {}", who.pid, who.uid);
}

}  // namespace

std::optional<TimingLock> TimingLock::acquire(const std::function<bool()>& give_up,
                                              const std::function<void(const std::string&)>& note) {
  using Clock = std::chrono::steady_clock;
  const char* part = std::getenv("APPROXTRAIN_TIMING_LOCK");
  const Address address(part != nullptr && *part != '\0'
                            ? "approxtrain-timing-" + sha256_hex(part).substr(0, 12)
                            : "approxtrain-timing");
  Descriptor own = make_socket();
  const auto since = Clock::now();
  bool told = false;
  while (::bind(own.get(), address.get(), address.size) != 0) {
    if (errno != EADDRINUSE) {
      throw Error(ErrorKind::kInternal,
                  fmt::format("the timing lock cannot be taken: {}", std::strerror(errno)));
    }
    if (give_up()) return std::nullopt;
    if (!told && Clock::now() - since > std::chrono::seconds(2)) {
      note(fmt::format("waiting for another timing on this machine ({})", holder(address)));
      told = true;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
  }
  ::listen(own.get(), 16);  // so that those who wait can see who holds it
  return TimingLock(std::move(own));
}

}  // namespace approx
