// Checksums. Only this file uses OpenSSL, so programs without checksums link no cryptographic
// library.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/files.h"

namespace approx {

// A running checksum: "sha256" or "md5".
class Digest {
 public:
  explicit Digest(const char* algorithm);
  ~Digest();
  Digest(const Digest&) = delete;
  Digest& operator=(const Digest&) = delete;

  Digest& add(Bytes bytes);
  // The checksum of all bytes added. Call it once, and add nothing afterwards.
  std::vector<uint8_t> finish();
  std::string hex();  // as finish(), in lower-case hexadecimal digits

 private:
  void* context_;
};

std::array<uint8_t, 32> sha256(Bytes bytes);

// Checksums of bytes, as hexadecimal digits.
std::string sha256_hex(std::string_view bytes);
std::string digest_hex(const char* algorithm, Bytes bytes);

// The checksum of a file's content, read in pieces. Throws Error(kData) as read_file does.
std::string file_digest_hex(const char* algorithm, const std::string& path);

}  // namespace approx
