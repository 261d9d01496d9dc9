#include "core/train/tensor_file.h"

#include <ATen/ATen.h>

#include <cstring>
#include <map>

#include "base/digest.h"
#include "base/error.h"
#include "base/files.h"

namespace approx {
namespace {

constexpr uint32_t kVersion = 1;
constexpr size_t kMagicBytes = 8;
constexpr size_t kDigestBytes = 32;
constexpr size_t kDigestAt = kMagicBytes + sizeof(kVersion);
constexpr size_t kBodyAt = kDigestAt + kDigestBytes;
constexpr uint64_t kLongestHeader = uint64_t{1} << 30;

// The types that a training has.
const std::map<std::string, at::ScalarType>& types() {
  static const std::map<std::string, at::ScalarType> known = {
      {"f64", at::kDouble}, {"f32", at::kFloat}, {"f16", at::kHalf}, {"bf16", at::kBFloat16},
      {"i64", at::kLong},   {"i32", at::kInt},   {"u8", at::kByte},  {"bool", at::kBool}};
  return known;
}

std::string type_name(at::ScalarType type) {
  for (const auto& [name, known] : types()) {
    if (known == type) return name;
  }
  throw Error(ErrorKind::kInternal,
              fmt::format("a file holds no tensors of type {}", c10::toString(type)));
}

template <typename Integer>
void put_integer(std::string& bytes, Integer value) {
  for (size_t i = 0; i < sizeof(Integer); ++i) {
    bytes.push_back(static_cast<char>(value >> (8 * i) & 0xff));
  }
}

template <typename Integer>
Integer take(std::string_view bytes) {
  Integer value = 0;
  for (size_t i = sizeof(Integer); i > 0; --i) {
    value = static_cast<Integer>(value << 8 | static_cast<unsigned char>(bytes[i - 1]));
  }
  return value;
}

std::string digest(std::string_view bytes) {
  const auto value = sha256(to_bytes(bytes));
  return {value.begin(), value.end()};
}

// Makes the error of a file of one kind whose bytes are not what they should be.
struct Damage {
  TensorFileKind kind;

  template <typename... Arguments>
  Error operator()(fmt::format_string<Arguments...> format, Arguments&&... arguments) const {
    return Error(ErrorKind::kData,
                 fmt::format("{} is damaged: {}", kind.what,
                             fmt::format(format, std::forward<Arguments>(arguments)...)));
  }
};

// Shape and bytes of one tensor, as its header has them. No product may overflow.
at::Tensor read_tensor(const Damage& damage, const Json& header, std::string_view& rest) {
  const auto type = types().find(header.at("type").get<std::string>());
  if (type == types().end()) throw damage("unknown type {}", header["type"].dump());
  const auto shape = header.at("shape").get<std::vector<int64_t>>();
  const auto bytes = header.at("bytes").get<uint64_t>();
  uint64_t expected = c10::elementSize(type->second);
  for (const int64_t size : shape) {
    if (size < 0 || __builtin_mul_overflow(expected, static_cast<uint64_t>(size), &expected)) {
      throw damage("the shape {}", header["shape"].dump());
    }
  }
  if (bytes != expected) throw damage("{} bytes for the shape {}", bytes, header["shape"].dump());
  if (bytes > rest.size()) throw damage("{} of {} bytes are there", rest.size(), bytes);
  auto tensor = at::empty(shape, at::TensorOptions().dtype(type->second));
  if (bytes > 0) std::memcpy(tensor.mutable_data_ptr(), rest.data(), bytes);
  rest.remove_prefix(bytes);
  return tensor;
}

}  // namespace

std::string encode_tensors(const TensorFileKind& kind, const TensorContent& content) {
  Json tensors = Json::array();
  std::vector<at::Tensor> values;
  size_t payload = 0;
  for (const auto& [name, tensor] : content.tensors) {
    values.push_back(tensor.detach().to(at::kCPU).contiguous());
    tensors.push_back({{"name", name},
                       {"type", type_name(tensor.scalar_type())},
                       {"shape", tensor.sizes().vec()},
                       {"bytes", values.back().nbytes()}});
    payload += values.back().nbytes();
  }
  const std::string header = Json{{"state", content.state}, {"tensors", tensors}}.dump();
  std::string bytes;
  bytes.reserve(kBodyAt + sizeof(uint64_t) + header.size() + payload);
  bytes += kind.magic;
  put_integer(bytes, kVersion);
  bytes.append(kDigestBytes, '\0');
  put_integer(bytes, static_cast<uint64_t>(header.size()));
  bytes += header;
  for (const auto& value : values) {
    bytes.append(static_cast<const char*>(value.const_data_ptr()), value.nbytes());
  }
  bytes.replace(kDigestAt, kDigestBytes, digest(std::string_view(bytes).substr(kBodyAt)));
  return bytes;
}

TensorContent decode_tensors(const TensorFileKind& kind, std::string_view bytes) {
  const Damage damage{kind};
  if (bytes.size() < kBodyAt + sizeof(uint64_t))
    throw damage("it ends after {} bytes", bytes.size());
  if (bytes.substr(0, kMagicBytes) != kind.magic) throw damage("it does not begin as one");
  const auto version = take<uint32_t>(bytes.substr(kMagicBytes));
  if (version != kVersion) {
    throw Error(ErrorKind::kData,
                fmt::format("{} has layout {}, expected {}", kind.what, version, kVersion));
  }
  if (digest(bytes.substr(kBodyAt)) != bytes.substr(kDigestAt, kDigestBytes)) {
    throw damage("its checksum is not that of its content");
  }
  std::string_view rest = bytes.substr(kBodyAt);
  const auto length = take<uint64_t>(rest);
  rest.remove_prefix(sizeof(length));
  if (length > rest.size() || length > kLongestHeader) {
    throw damage("a header of {} bytes", length);
  }
  TensorContent content;
  try {
    const Json header = Json::parse(rest.substr(0, length));
    rest.remove_prefix(length);
    content.state = header.at("state");
    for (const auto& tensor : header.at("tensors")) {
      auto values = read_tensor(damage, tensor, rest);
      content.tensors.emplace_back(tensor.at("name").get<std::string>(), std::move(values));
    }
  } catch (const Json::exception& error) {
    throw damage("{}", error.what());
  }
  if (!rest.empty()) throw damage("{} bytes too many", rest.size());
  return content;
}

}  // namespace approx
