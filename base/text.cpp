#include "base/text.h"

#include <fmt/format.h>

#include <algorithm>

namespace approx {

std::string_view trim(std::string_view text) {
  const auto first = text.find_first_not_of(" \t");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t") - first + 1);
}

std::vector<std::string_view> split(std::string_view text, std::string_view separators) {
  std::vector<std::string_view> pieces;
  size_t begin = 0;
  while (begin <= text.size()) {
    const size_t end = std::min(text.find_first_of(separators, begin), text.size());
    pieces.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return pieces;
}

std::string_view first_line(std::string_view text) { return text.substr(0, text.find('\n')); }

std::string quote(std::string_view text) {
  constexpr size_t kShown = 80;
  return text.size() <= kShown ? fmt::format("\"{}\"", text)
                               : fmt::format("\"{}...\"", text.substr(0, kShown));
}

}  // namespace approx
