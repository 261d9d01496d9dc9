#include "cli/process/machine_name.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdlib>
#include <cstring>

#include "base/digest.h"
#include "base/error.h"

namespace approx {
namespace {

Descriptor make_socket() {
  Descriptor made(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!made) {
    throw Error(ErrorKind::kInternal,
                fmt::format("no socket for a lock of the machine: {}", std::strerror(errno)));
  }
  return made;
}

}  // namespace

MachineName::MachineName(const std::string& what) {
  std::string name = "approxtrain-" + what;
  const char* part = std::getenv("APPROXTRAIN_TIMING_LOCK");
  if (part != nullptr && *part != '\0') name += "-" + sha256_hex(part).substr(0, 12);
  // Its first byte is zero: no file.
  const size_t length = std::min(name.size(), sizeof(address_.sun_path) - 1);
  std::copy_n(name.begin(), length, address_.sun_path + 1);
  size_ = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + length);
}

Descriptor MachineName::hold() const {
  Descriptor own = make_socket();
  if (::bind(own.get(), address(), size_) != 0) {
    if (errno == EADDRINUSE) return Descriptor();
    throw Error(ErrorKind::kInternal,
                fmt::format("a lock of the machine cannot be taken: {}", std::strerror(errno)));
  }
  ::listen(own.get(), 16);  // so that those who wait can see who holds it
  return own;
}

std::string MachineName::holder() const {
  const Descriptor asking = make_socket();
  ucred who{};
  socklen_t size = sizeof(who);
  if (::connect(asking.get(), address(), size_) != 0 ||
      ::getsockopt(asking.get(), SOL_SOCKET, SO_PEERCRED, &who, &size) != 0) {
    return "an unknown process";
  }
  return fmt::format("process {} of user {}", who.pid, who.uid);
}

}  // namespace approx
