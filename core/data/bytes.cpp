#include "core/data/bytes.h"

#include <zlib.h>

#include <algorithm>

#include "base/error.h"

namespace approx {

int64_t checked_mul(int64_t a, int64_t b, std::string_view place) {
  int64_t product = 0;
  if (a < 0 || b < 0 || __builtin_mul_overflow(a, b, &product)) {
    throw data_error("{}: the size {} x {} is impossible; the file is damaged", place, a, b);
  }
  return product;
}

int64_t checked_add(int64_t a, int64_t b, std::string_view place) {
  int64_t sum = 0;
  if (a < 0 || b < 0 || __builtin_add_overflow(a, b, &sum)) {
    throw data_error("{}: the size {} + {} is impossible; the file is damaged", place, a, b);
  }
  return sum;
}

bool is_gzip(Bytes bytes) { return bytes.size() >= 2 && bytes[0] == 0x1f && bytes[1] == 0x8b; }

struct GzipReader::State {
  std::function<Bytes()> source;
  std::string name;
  z_stream stream{};
  int64_t consumed = 0;  // compressed bytes handed to zlib before the current piece
  int64_t piece = 0;     // size of the current piece
  bool inside = true;    // within a member: the input may not end here

  int64_t offset() const { return consumed + piece - stream.avail_in; }

  bool refill() {
    if (stream.avail_in > 0) return true;
    const auto bytes = source();
    consumed += piece;
    piece = static_cast<int64_t>(bytes.size());
    stream.next_in = const_cast<Bytef*>(bytes.data());
    stream.avail_in = static_cast<uInt>(bytes.size());
    return !bytes.empty();
  }
};

GzipReader::GzipReader(std::function<Bytes()> source, std::string name)
    : state_(std::make_unique<State>()) {
  state_->source = std::move(source);
  state_->name = std::move(name);
  constexpr int kGzipOnly = 16 + MAX_WBITS;
  if (inflateInit2(&state_->stream, kGzipOnly) != Z_OK) {
    throw Error(ErrorKind::kInternal, "zlib cannot be initialised");
  }
}

GzipReader::~GzipReader() { inflateEnd(&state_->stream); }

size_t GzipReader::read(std::span<uint8_t> out) {
  auto& state = *state_;
  auto& stream = state.stream;
  out = out.first(std::min<size_t>(out.size(), 1u << 30));  // zlib counts in 32 bits
  stream.next_out = out.data();
  stream.avail_out = static_cast<uInt>(out.size());
  while (stream.avail_out > 0) {
    const bool more = state.refill();
    if (!more && !state.inside) break;
    if (!more) {
      throw data_error("{}: at byte {}: expected more gzip data, found the end of the file",
                       state.name, state.offset());
    }
    if (!state.inside) {  // a further member, as gzip allows
      inflateReset(&stream);
      state.inside = true;
    }
    const int status = inflate(&stream, Z_NO_FLUSH);
    if (status == Z_STREAM_END) {
      state.inside = false;
    } else if (status != Z_OK && status != Z_BUF_ERROR) {
      throw data_error("{}: at byte {}: expected gzip data, found {}; copy the file again",
                       state.name, state.offset(), stream.msg ? stream.msg : "damage");
    }
  }
  return out.size() - stream.avail_out;
}

std::vector<uint8_t> gunzip(Bytes compressed, const std::string& name, int64_t limit) {
  size_t at = 0;
  GzipReader reader(
      [&]() -> Bytes {
        const auto piece =
            compressed.subspan(at, std::min<size_t>(compressed.size() - at, 1 << 20));
        at += piece.size();
        return piece;
      },
      name);
  std::vector<uint8_t> out;
  std::vector<uint8_t> buffer(1 << 18);
  while (const size_t n = reader.read(buffer)) {
    if (static_cast<int64_t>(out.size() + n) > limit) {
      throw data_error("{}: expected at most {} bytes of content, found more", name, limit);
    }
    out.insert(out.end(), buffer.begin(), buffer.begin() + static_cast<ptrdiff_t>(n));
  }
  return out;
}

}  // namespace approx
