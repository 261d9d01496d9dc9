// Basics of all readers: checked sizes and gzip.
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

// Products and sums of sizes that were read from a file. Throw Error(kData) that begins with
// `place` for a negative operand and for a result outside of int64.
int64_t checked_mul(int64_t a, int64_t b, std::string_view place);
int64_t checked_add(int64_t a, int64_t b, std::string_view place);

bool is_gzip(Bytes bytes);

// Decompresses a gzip file piece by piece. It checks the content against the checksum and the
// length at the end of each member, so that an altered byte is an error. The filter of libarchive
// does not check them.
class GzipReader {
 public:
  // `source` returns the next compressed bytes, an empty span at the end; `name` is for messages.
  GzipReader(std::function<Bytes()> source, std::string name);
  ~GzipReader();
  GzipReader(const GzipReader&) = delete;
  GzipReader& operator=(const GzipReader&) = delete;

  // Fills `out` as far as there is content and returns the number of bytes; 0 at the end. Throws
  // Error(kData) that names file and offset for truncated or altered content.
  size_t read(std::span<uint8_t> out);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// Decompresses a gzip file in memory to at most `limit` bytes. Throws as GzipReader does.
std::vector<uint8_t> gunzip(Bytes compressed, const std::string& name, int64_t limit);

}  // namespace approx
