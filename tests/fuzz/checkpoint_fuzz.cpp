// Checkpoints, and files of recorded operands: all of them but LibTorch's tensors.
#include "core/data/tensor_bytes.h"
#include "tests/fuzz/fuzz.h"

namespace approx::fuzz {
namespace {

constexpr TensorFileKind kKind{.magic = "APTXCKPT", .what = "the checkpoint"};

bool equal(const StoredTensors& a, const StoredTensors& b) {
  if (a.state != b.state || a.tensors.size() != b.tensors.size()) return false;
  for (size_t i = 0; i < a.tensors.size(); ++i) {
    const auto &x = a.tensors[i], &y = b.tensors[i];
    if (x.name != y.name || x.type != y.type || x.shape != y.shape || x.values != y.values) {
      return false;
    }
  }
  return true;
}

}  // namespace

void run(Bytes bytes) {
  Input input(bytes);
  const bool sign = input.byte() % 2 == 1;
  std::string file(text_of(input.rest()));
  if (sign) sign_tensor_bytes(file);
  accepted(ErrorKind::kData, [&] {
    const auto content = parse_tensor_bytes(kKind, file);
    const std::string again = tensor_bytes(kKind, content);
    expect(equal(parse_tensor_bytes(kKind, again), content), "what was read is written and read");
  });
}

std::vector<Buffer> seeds() {
  const std::string values(64, '\1');
  const auto part = [&](size_t bytes) { return std::string_view(values).substr(0, bytes); };
  const std::vector<StoredTensors> contents = {
      {},
      {.state = {{"step", 3}, {"text", "a b"}, {"list", {1, 2.5, nullptr}}}, .tensors = {}},
      {.state = Json::object(),
       .tensors = {{"conv.weight", "f32", {2, 2, 1, 1}, part(16)},
                   {"step", "i64", {}, part(8)},
                   {"none", "bf16", {0, 3}, part(0)},
                   {"mask", "bool", {5}, part(5)},
                   {"half", "f16", {2, 3}, part(12)}}}};
  std::vector<Buffer> all;
  for (const auto& content : contents) {
    for (const char sign : {'\0', '\1'}) {
      all.push_back(buffer_of(std::string(1, sign) + tensor_bytes(kKind, content)));
    }
  }
  return all;
}

}  // namespace approx::fuzz
