// Tar archives written byte by byte, so that they can be wrong in every way.
#pragma once

#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "tests/core/data/testing.h"

namespace approx::testing {

// A ustar header with a right checksum. `size` may be a lie.
inline Buffer tar_header(const std::string& name, const std::string& size, char type,
                         const std::string& link = "") {
  Buffer block(512);
  const auto put = [&](size_t at, const std::string& text) {
    std::memcpy(block.data() + at, text.data(), text.size());
  };
  put(0, name.substr(0, 100));
  put(100, "0000644");
  put(108, "0000000");
  put(116, "0000000");
  put(124, size);
  put(136, "00000000000");
  put(148, "        ");
  block[156] = static_cast<uint8_t>(type);
  put(157, link);
  put(257, std::string("ustar\0"
                       "00",
                       8));
  unsigned sum = 0;
  for (const auto byte : block) sum += byte;
  put(148, fmt::format("{:06o}", sum));
  block[154] = 0;
  return block;
}

inline void append(Buffer& to, const Buffer& from) {
  to.insert(to.end(), from.begin(), from.end());
}

inline Buffer tar_entry(const std::string& name, const Buffer& content, char type = '0',
                        const std::string& link = "") {
  auto entry = tar_header(name, fmt::format("{:011o}", content.size()), type, link);
  append(entry, content);
  entry.resize((entry.size() + 511) / 512 * 512);
  return entry;
}

inline Buffer tar(const std::vector<Buffer>& entries) {
  Buffer bytes;
  for (const auto& entry : entries) append(bytes, entry);
  bytes.resize(bytes.size() + 1024);
  return bytes;
}

inline Buffer tar_of(const std::vector<std::pair<std::string, Buffer>>& files) {
  std::vector<Buffer> entries;
  for (const auto& [name, content] : files) entries.push_back(tar_entry(name, content));
  return tar(entries);
}

}  // namespace approx::testing
