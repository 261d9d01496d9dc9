// How often a text is in another.
#pragma once

#include <cstddef>
#include <string>

namespace approx {

inline size_t count(const std::string& text, const std::string& what) {
  size_t found = 0;
  for (size_t at = text.find(what); at != text.npos; at = text.find(what, at + 1)) ++found;
  return found;
}

}  // namespace approx
