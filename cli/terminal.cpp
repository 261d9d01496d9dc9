#include "cli/terminal.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <cstdlib>

#include "base/numbers.h"

namespace approx {

std::optional<size_t> output_width(int descriptor) {
  constexpr size_t kUsual = 80;
  constexpr int64_t kMost = 100'000;
  if (::isatty(descriptor) == 0) return std::nullopt;
  winsize size{};
  if (::ioctl(descriptor, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) return size.ws_col;
  const char* columns = std::getenv("COLUMNS");
  const auto given = parse_integer(columns == nullptr ? "" : columns, 1, kMost);
  return given ? static_cast<size_t>(*given) : kUsual;
}

}  // namespace approx
