#include "core/train/checkpoint.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <map>

#include "base/digest.h"
#include "base/error.h"
#include "base/files.h"

namespace approx {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kMagic = "APTXCKPT";
constexpr uint32_t kVersion = 1;
constexpr size_t kDigestBytes = 32;
constexpr size_t kDigestAt = kMagic.size() + sizeof(kVersion);
constexpr size_t kBodyAt = kDigestAt + kDigestBytes;
constexpr uint64_t kLongestHeader = uint64_t{1} << 30;

constexpr const char* kNewest = "checkpoint";
constexpr const char* kPrevious = "checkpoint.previous";
constexpr const char* kUnfinished = "checkpoint.new";
constexpr const char* kDamaged = "checkpoint.damaged";

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
              fmt::format("a checkpoint holds no tensors of type {}", c10::toString(type)));
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

template <typename... Arguments>
Error damaged(fmt::format_string<Arguments...> format, Arguments&&... arguments) {
  return Error(ErrorKind::kData,
               fmt::format("the checkpoint is damaged: {}",
                           fmt::format(format, std::forward<Arguments>(arguments)...)));
}

// Shape and bytes of one tensor, as its header has them. No product may overflow.
at::Tensor read_tensor(const Json& header, std::string_view& rest) {
  const auto type = types().find(header.at("type").get<std::string>());
  if (type == types().end()) throw damaged("unknown type {}", header["type"].dump());
  const auto shape = header.at("shape").get<std::vector<int64_t>>();
  const auto bytes = header.at("bytes").get<uint64_t>();
  uint64_t expected = c10::elementSize(type->second);
  for (const int64_t size : shape) {
    if (size < 0 || __builtin_mul_overflow(expected, static_cast<uint64_t>(size), &expected)) {
      throw damaged("the shape {}", header["shape"].dump());
    }
  }
  if (bytes != expected) throw damaged("{} bytes for the shape {}", bytes, header["shape"].dump());
  if (bytes > rest.size()) throw damaged("{} of {} bytes are there", rest.size(), bytes);
  auto tensor = at::empty(shape, at::TensorOptions().dtype(type->second));
  if (bytes > 0) std::memcpy(tensor.mutable_data_ptr(), rest.data(), bytes);
  rest.remove_prefix(bytes);
  return tensor;
}

std::string read_checkpoint_file(const std::string& path) {
  const Descriptor file(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  struct stat status {};
  if (!file || fstat(file.get(), &status) != 0) throw damaged("{}", std::strerror(errno));
  if (!S_ISREG(status.st_mode)) throw damaged("it is no file");
  std::string bytes(static_cast<size_t>(status.st_size), '\0');
  size_t done = 0;
  while (done < bytes.size()) {
    const ssize_t count = read(file.get(), bytes.data() + done, bytes.size() - done);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) break;
    done += static_cast<size_t>(count);
  }
  bytes.resize(done);
  return bytes;
}

}  // namespace

bool Checkpoint::has(const std::string& name) const {
  return std::any_of(tensors.begin(), tensors.end(),
                     [&](const auto& tensor) { return tensor.first == name; });
}

const at::Tensor& Checkpoint::tensor(const std::string& name) const {
  for (const auto& [known, tensor] : tensors) {
    if (known == name) return tensor;
  }
  throw Error(ErrorKind::kData, fmt::format("the checkpoint has no tensor {}", name));
}

void Checkpoint::restore(const std::string& name, const at::Tensor& target) const {
  const auto& saved = tensor(name);
  if (saved.sizes() != target.sizes() || saved.scalar_type() != target.scalar_type()) {
    throw Error(ErrorKind::kData,
                fmt::format("the checkpoint's {} is {} {}, expected {} {}", name,
                            c10::toString(saved.scalar_type()), c10::str(saved.sizes()),
                            c10::toString(target.scalar_type()), c10::str(target.sizes())));
  }
  const at::NoGradGuard no_grad;
  target.copy_(saved);
}

std::string encode(const Checkpoint& checkpoint) {
  Json tensors = Json::array();
  std::vector<at::Tensor> values;
  size_t payload = 0;
  for (const auto& [name, tensor] : checkpoint.tensors) {
    values.push_back(tensor.detach().to(at::kCPU).contiguous());
    tensors.push_back({{"name", name},
                       {"type", type_name(tensor.scalar_type())},
                       {"shape", tensor.sizes().vec()},
                       {"bytes", values.back().nbytes()}});
    payload += values.back().nbytes();
  }
  const std::string header = Json{{"state", checkpoint.state}, {"tensors", tensors}}.dump();
  std::string bytes;
  bytes.reserve(kBodyAt + sizeof(uint64_t) + header.size() + payload);
  bytes += kMagic;
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

Checkpoint decode(std::string_view bytes) {
  if (bytes.size() < kBodyAt + sizeof(uint64_t))
    throw damaged("it ends after {} bytes", bytes.size());
  if (bytes.substr(0, kMagic.size()) != kMagic) throw damaged("it does not begin as one");
  const auto version = take<uint32_t>(bytes.substr(kMagic.size()));
  if (version != kVersion) {
    throw Error(ErrorKind::kData,
                fmt::format("the checkpoint has layout {}, expected {}", version, kVersion));
  }
  if (digest(bytes.substr(kBodyAt)) != bytes.substr(kDigestAt, kDigestBytes)) {
    throw damaged("its checksum is not that of its content");
  }
  std::string_view rest = bytes.substr(kBodyAt);
  const auto length = take<uint64_t>(rest);
  rest.remove_prefix(sizeof(length));
  if (length > rest.size() || length > kLongestHeader) {
    throw damaged("a header of {} bytes", length);
  }
  Checkpoint checkpoint;
  try {
    const Json header = Json::parse(rest.substr(0, length));
    rest.remove_prefix(length);
    checkpoint.state = header.at("state");
    for (const auto& tensor : header.at("tensors")) {
      checkpoint.add(tensor.at("name").get<std::string>(), read_tensor(tensor, rest));
    }
  } catch (const Json::exception& error) {
    throw damaged("{}", error.what());
  }
  if (!rest.empty()) throw damaged("{} bytes too many", rest.size());
  return checkpoint;
}

void save_checkpoint(const std::string& folder, const Checkpoint& checkpoint) {
  const std::string bytes = encode(checkpoint);
  const std::string unfinished = folder + "/" + kUnfinished, newest = folder + "/" + kNewest,
                    previous = folder + "/" + kPrevious;
  std::error_code error;
  fs::create_directories(folder, error);
  // Every state in between has a whole checkpoint under one of the two names that are read.
  if (!error) error = write_synced(unfinished, to_bytes(bytes));
  if (!error) fs::rename(newest, previous, error);
  if (error == std::errc::no_such_file_or_directory) error.clear();  // the first one of the folder
  if (!error) fs::rename(unfinished, newest, error);
  if (!error) error = sync_folder(folder);
  if (error) {
    std::error_code ignored;
    fs::remove(unfinished, ignored);
    throw data_error("{}: {}; the checkpoint needs {} bytes", newest, error.message(),
                     bytes.size());
  }
}

std::optional<Checkpoint> load_checkpoint(const std::string& folder,
                                          const std::function<void(const std::string&)>& notice) {
  for (const char* name : {kNewest, kPrevious}) {
    const std::string path = folder + "/" + name;
    std::error_code ignored;
    if (!fs::exists(path, ignored)) continue;
    try {
      return decode(read_checkpoint_file(path));
    } catch (const Error& error) {
      notice(fmt::format("{}: {}", path, error.what()));
      fs::rename(path, folder + "/" + kDamaged, ignored);
    }
  }
  return std::nullopt;
}

}  // namespace approx
