#include "core/train/tensor_file.h"

#include <ATen/ATen.h>

#include <cstring>
#include <map>

#include "base/error.h"

namespace approx {
namespace {

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

}  // namespace

std::string encode_tensors(const TensorFileKind& kind, const TensorContent& content) {
  StoredTensors stored{.state = content.state, .tensors = {}};
  std::vector<at::Tensor> values;  // that the bytes are of
  for (const auto& [name, tensor] : content.tensors) {
    const auto& value = values.emplace_back(tensor.detach().to(at::kCPU).contiguous());
    stored.tensors.push_back({.name = name,
                              .type = type_name(value.scalar_type()),
                              .shape = value.sizes().vec(),
                              .values = {static_cast<const char*>(value.const_data_ptr()),
                                         static_cast<size_t>(value.nbytes())}});
  }
  return tensor_bytes(kind, stored);
}

TensorContent decode_tensors(const TensorFileKind& kind, std::string_view bytes) {
  auto stored = parse_tensor_bytes(kind, bytes);
  TensorContent content{.state = std::move(stored.state), .tensors = {}};
  for (auto& [name, type, shape, values] : stored.tensors) {
    auto tensor = at::empty(shape, at::TensorOptions().dtype(types().at(type)));
    if (!values.empty()) std::memcpy(tensor.mutable_data_ptr(), values.data(), values.size());
    content.tensors.emplace_back(std::move(name), std::move(tensor));
  }
  return content;
}

}  // namespace approx
