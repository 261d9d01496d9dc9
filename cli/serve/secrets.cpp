#include "cli/serve/secrets.h"

#include <sys/random.h>

#include <array>
#include <cerrno>
#include <cstdint>
#include <cstring>

#include "base/error.h"

namespace approx {

std::string random_secret() {
  std::array<uint8_t, 16> bytes{};
  size_t done = 0;
  while (done < bytes.size()) {
    const ssize_t got = getrandom(bytes.data() + done, bytes.size() - done, 0);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) {
      throw Error(ErrorKind::kInternal,
                  fmt::format("the system gives no random numbers ({})", std::strerror(errno)));
    }
    done += static_cast<size_t>(got);
  }
  std::string text;
  for (const uint8_t byte : bytes) text += fmt::format("{:02x}", byte);
  return text;
}

bool same_secret(std::string_view a, std::string_view b) {
  if (a.size() != b.size()) return false;
  unsigned char differ = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    // Through a volatile, so that no compiler leaves the loop at the first difference.
    const volatile char left = a[i], right = b[i];
    differ |= static_cast<unsigned char>(left ^ right);
  }
  return differ == 0;
}

}  // namespace approx
