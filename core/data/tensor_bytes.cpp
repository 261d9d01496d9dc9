#include "core/data/tensor_bytes.h"

#include <array>
#include <limits>
#include <utility>

#include "base/digest.h"
#include "base/error.h"
#include "base/files.h"

namespace approx {
namespace {

constexpr uint32_t kLayoutVersion = 1;
constexpr size_t kMagicBytes = 8;
constexpr size_t kTensorDigestBytes = 32;
constexpr size_t kTensorDigestAt = kMagicBytes + sizeof(kLayoutVersion);
constexpr size_t kBodyAt = kTensorDigestAt + kTensorDigestBytes;
constexpr uint64_t kLongestHeader = uint64_t{1} << 30;

// The types that a training has, and the bytes of an element.
constexpr auto kElementBytes = std::to_array<std::pair<std::string_view, size_t>>({{"f64", 8},
                                                                                   {"f32", 4},
                                                                                   {"f16", 2},
                                                                                   {"bf16", 2},
                                                                                   {"i64", 8},
                                                                                   {"i32", 4},
                                                                                   {"u8", 1},
                                                                                   {"bool", 1}});

// 0 for a type that there is not.
size_t element_bytes(std::string_view type) {
  for (const auto& [name, bytes] : kElementBytes) {
    if (name == type) return bytes;
  }
  return 0;
}

template <typename Integer>
void put_integer(std::string& bytes, Integer value) {
  for (size_t i = 0; i < sizeof(Integer); ++i) {
    bytes.push_back(static_cast<char>(value >> (8 * i) & 0xff));
  }
}

template <typename Integer>
Integer take_integer(std::string_view bytes) {
  Integer value = 0;
  for (size_t i = sizeof(Integer); i > 0; --i) {
    value = static_cast<Integer>(value << 8 | static_cast<unsigned char>(bytes[i - 1]));
  }
  return value;
}

std::string body_digest(std::string_view bytes) {
  const auto value = sha256(to_bytes(bytes.substr(kBodyAt)));
  return {value.begin(), value.end()};
}

// Makes the error of a file of one kind whose bytes are not what they should be.
struct Damage {
  TensorFileKind kind;

  template <typename... Arguments>
  Error operator()(fmt::format_string<Arguments...> format, Arguments&&... arguments) const {
    return data_error("{} is damaged: {}", kind.what,
                      fmt::format(format, std::forward<Arguments>(arguments)...));
  }
};

// The bytes of a tensor. No product of its sizes may overflow, zeros left out either: strides are
// such products.
uint64_t bytes_of_shape(const Damage& damage, uint64_t element, const std::vector<int64_t>& shape) {
  bool empty = false;
  uint64_t bytes = element;
  for (const int64_t size : shape) {
    if (size == 0) {
      empty = true;
    } else if (size < 0 || __builtin_mul_overflow(bytes, static_cast<uint64_t>(size), &bytes) ||
               bytes > static_cast<uint64_t>(std::numeric_limits<int64_t>::max())) {
      throw damage("the shape {}", fmt::join(shape, "x"));
    }
  }
  return empty ? 0 : bytes;
}

// Shape and bytes of one tensor, as its header has them.
StoredTensor take_tensor(const Damage& damage, const Json& header, std::string_view& rest) {
  StoredTensor tensor{.name = header.at("name").get<std::string>(),
                      .type = header.at("type").get<std::string>(),
                      .shape = header.at("shape").get<std::vector<int64_t>>(),
                      .values = {}};
  const auto bytes = header.at("bytes").get<uint64_t>();
  const uint64_t element = element_bytes(tensor.type);
  if (element == 0) throw damage("unknown type {}", header["type"].dump());
  const uint64_t expected = bytes_of_shape(damage, element, tensor.shape);
  if (bytes != expected) throw damage("{} bytes for the shape {}", bytes, header["shape"].dump());
  if (bytes > rest.size()) throw damage("{} of {} bytes are there", rest.size(), bytes);
  tensor.values = rest.substr(0, bytes);
  rest.remove_prefix(bytes);
  return tensor;
}

}  // namespace

std::string tensor_bytes(const TensorFileKind& kind, const StoredTensors& content) {
  Json tensors = Json::array();
  size_t payload = 0;
  for (const auto& tensor : content.tensors) {
    tensors.push_back({{"name", tensor.name},
                       {"type", tensor.type},
                       {"shape", tensor.shape},
                       {"bytes", tensor.values.size()}});
    payload += tensor.values.size();
  }
  const std::string header = Json{{"state", content.state}, {"tensors", tensors}}.dump();
  std::string bytes;
  bytes.reserve(kBodyAt + sizeof(uint64_t) + header.size() + payload);
  bytes += kind.magic;
  put_integer(bytes, kLayoutVersion);
  bytes.append(kTensorDigestBytes, '\0');
  put_integer(bytes, static_cast<uint64_t>(header.size()));
  bytes += header;
  for (const auto& tensor : content.tensors) bytes += tensor.values;
  sign_tensor_bytes(bytes);
  return bytes;
}

StoredTensors parse_tensor_bytes(const TensorFileKind& kind, std::string_view bytes) {
  const Damage damage{kind};
  if (bytes.size() < kBodyAt + sizeof(uint64_t)) {
    throw damage("it ends after {} bytes", bytes.size());
  }
  if (bytes.substr(0, kMagicBytes) != kind.magic) throw damage("it does not begin as one");
  const auto version = take_integer<uint32_t>(bytes.substr(kMagicBytes));
  if (version != kLayoutVersion) {
    throw data_error("{} has layout {}, expected {}", kind.what, version, kLayoutVersion);
  }
  if (body_digest(bytes) != bytes.substr(kTensorDigestAt, kTensorDigestBytes)) {
    throw damage("its checksum is not that of its content");
  }
  std::string_view rest = bytes.substr(kBodyAt);
  const auto length = take_integer<uint64_t>(rest);
  rest.remove_prefix(sizeof(length));
  if (length > rest.size() || length > kLongestHeader) {
    throw damage("a header of {} bytes", length);
  }
  StoredTensors content;
  try {
    const Json header = Json::parse(rest.substr(0, length));
    rest.remove_prefix(length);
    content.state = header.at("state");
    for (const auto& tensor : header.at("tensors")) {
      content.tensors.push_back(take_tensor(damage, tensor, rest));
    }
  } catch (const Json::exception& error) {
    throw damage("{}", error.what());
  }
  if (!rest.empty()) throw damage("{} bytes too many", rest.size());
  return content;
}

void sign_tensor_bytes(std::string& bytes) {
  if (bytes.size() >= kBodyAt)
    bytes.replace(kTensorDigestAt, kTensorDigestBytes, body_digest(bytes));
}

}  // namespace approx
