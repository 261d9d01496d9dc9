#include "cli/process/pipe.h"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>

#include "base/error.h"

namespace approx {

std::pair<Descriptor, Descriptor> make_pipe() {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) {
    throw Error(ErrorKind::kInternal, fmt::format("pipe: {}", std::strerror(errno)));
  }
  fcntl(ends[0], F_SETFL, O_NONBLOCK);
  return {Descriptor(ends[0]), Descriptor(ends[1])};
}

bool read_some(Descriptor& pipe, const std::function<void(std::string_view bytes)>& use) {
  if (!pipe) return false;
  static std::array<char, 65536> buffer;
  const ssize_t count = read(pipe.get(), buffer.data(), buffer.size());
  if (count > 0) {
    use(std::string_view(buffer.data(), static_cast<size_t>(count)));
    return true;
  }
  const bool later = count < 0 && (errno == EAGAIN || errno == EINTR);
  if (!later) pipe.close();
  return false;
}

}  // namespace approx
