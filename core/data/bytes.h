// What every reader starts from: checked sizes and gzip.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/files.h"

namespace approx {

// Products and sums of sizes that were read from a file: Error(kData) that begins with `place` on a
// negative operand or when the result leaves int64.
int64_t checked_mul(int64_t a, int64_t b, std::string_view place);
int64_t checked_add(int64_t a, int64_t b, std::string_view place);

bool is_gzip(Bytes bytes);

// Decompresses a gzip file piece by piece. Unlike the filter of libarchive it holds the content to
// the checksum and length at the end of each member, so that an altered byte is an error.
class GzipReader {
 public:
  // `source` returns the next compressed bytes, none at the end; `name` is for messages.
  GzipReader(std::function<Bytes()> source, std::string name);
  ~GzipReader();
  GzipReader(const GzipReader&) = delete;
  GzipReader& operator=(const GzipReader&) = delete;

  // Fills `out` as far as there is content and returns how many bytes that were; 0 at the end.
  // Error(kData) that names file and offset for truncated or altered content.
  size_t read(std::span<uint8_t> out);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// Decompresses a gzip file in memory to at most `limit` bytes.
std::vector<uint8_t> gunzip(Bytes compressed, const std::string& name, int64_t limit);

}  // namespace approx
