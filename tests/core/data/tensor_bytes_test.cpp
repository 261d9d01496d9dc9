#include "core/data/tensor_bytes.h"

#include "tests/core/data/testing.h"

namespace approx::testing {
namespace {

constexpr TensorFileKind kKind{.magic = "APTXTEST", .what = "the file"};
constexpr size_t kLengthAt = 44, kHeaderAt = 52;

const std::string& some_values() {
  static const std::string values(64, '\x5a');
  return values;
}

StoredTensors example() {
  const std::string_view values = some_values();
  return {.state = {{"step", 3}, {"text", "a b"}},
          .tensors = {{"weight", "f32", {2, 3}, values.substr(0, 24)},
                      {"step", "i64", {}, values.substr(0, 8)},
                      {"none", "bf16", {0, 3}, {}}}};
}

// A file with this header and right checksum, and `payload` behind it.
std::string file_of(const std::string& header, const std::string& payload = "") {
  std::string bytes = tensor_bytes(kKind, {}).substr(0, kLengthAt);
  for (size_t i = 0; i < 8; ++i) bytes += static_cast<char>(header.size() >> (8 * i) & 0xff);
  bytes += header + payload;
  sign_tensor_bytes(bytes);
  return bytes;
}

std::string one_tensor(const std::string& type, const std::string& shape, uint64_t bytes) {
  return fmt::format(
      R"({{"state":{{}},"tensors":[{{"name":"x","type":"{}","shape":{},"bytes":{}}}]}})", type,
      shape, bytes);
}

std::string refused(const std::string& bytes) {
  return data_error_of([&] { parse_tensor_bytes(kKind, bytes); });
}

TEST(TensorBytes, AreReadAsTheyWereWritten) {
  const auto written = example();
  const std::string bytes = tensor_bytes(kKind, written);
  const auto read = parse_tensor_bytes(kKind, bytes);
  EXPECT_EQ(read.state, written.state);
  ASSERT_EQ(read.tensors.size(), written.tensors.size());
  for (size_t i = 0; i < read.tensors.size(); ++i) {
    EXPECT_EQ(read.tensors[i].name, written.tensors[i].name);
    EXPECT_EQ(read.tensors[i].type, written.tensors[i].type);
    EXPECT_EQ(read.tensors[i].shape, written.tensors[i].shape);
    EXPECT_EQ(read.tensors[i].values, written.tensors[i].values);
  }
  EXPECT_TRUE(parse_tensor_bytes(kKind, tensor_bytes(kKind, {})).tensors.empty());
}

TEST(TensorBytes, DamageIsFound) {
  const std::string bytes = tensor_bytes(kKind, example());
  expect_damage_is_found(Buffer(bytes.begin(), bytes.end()), "the file", [](const Buffer& damaged) {
    parse_tensor_bytes(kKind, {reinterpret_cast<const char*>(damaged.data()), damaged.size()});
  });
  EXPECT_CONTAINS(refused("APTXCKPT" + bytes.substr(8)), "does not begin as one");
  std::string newer = bytes;
  newer[8] = 2;
  EXPECT_CONTAINS(refused(newer), "has layout 2, expected 1");
}

// With a right checksum: what a program that writes otherwise, or somebody, may have put there.
TEST(TensorBytes, NothingThatAHeaderClaimsIsBelieved) {
  EXPECT_NO_THROW(parse_tensor_bytes(kKind, file_of(one_tensor("u8", "[2]", 2), "ab")));
  EXPECT_CONTAINS(refused(file_of("{")), "the file is damaged: ");
  EXPECT_CONTAINS(refused(file_of("{}")), "state");
  EXPECT_CONTAINS(refused(file_of(one_tensor("f8", "[2]", 2), "ab")), "unknown type \"f8\"");
  EXPECT_CONTAINS(refused(file_of(one_tensor("u8", "[3]", 2), "ab")), "2 bytes for the shape [3]");
  EXPECT_CONTAINS(refused(file_of(one_tensor("u8", "[2]", 2), "a")), "1 of 2 bytes are there");
  EXPECT_CONTAINS(refused(file_of(one_tensor("u8", "[2]", 2), "abc")), "1 bytes too many");
  EXPECT_CONTAINS(refused(file_of(one_tensor("u8", "[-2]", 2), "ab")), "the shape -2");
  EXPECT_CONTAINS(refused(file_of(one_tensor("f32", "[4294967296,4294967296]", 0))), "the shape");
  // Empty, but with strides that no integer holds.
  EXPECT_CONTAINS(refused(file_of(one_tensor("f32", "[0,4294967296,4294967296]", 0))), "the shape");
  std::string long_header = file_of("{}");
  long_header[kHeaderAt - 1] = '\x7f';
  sign_tensor_bytes(long_header);
  EXPECT_CONTAINS(refused(long_header), "a header of ");
}

}  // namespace
}  // namespace approx::testing
