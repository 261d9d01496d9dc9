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

#include "base/error.h"
#include "base/files.h"

namespace approx {
namespace {

namespace fs = std::filesystem;

constexpr TensorFileKind kCheckpointKind{.magic = "APTXCKPT", .what = "the checkpoint"};

constexpr const char* kNewest = "checkpoint";
constexpr const char* kPrevious = "checkpoint.previous";
constexpr const char* kUnfinished = "checkpoint.new";
constexpr const char* kDamaged = "checkpoint.damaged";

template <typename... Arguments>
Error damaged(fmt::format_string<Arguments...> format, Arguments&&... arguments) {
  return Error(ErrorKind::kData,
               fmt::format("the checkpoint is damaged: {}",
                           fmt::format(format, std::forward<Arguments>(arguments)...)));
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
  return encode_tensors(kCheckpointKind, checkpoint);
}

Checkpoint decode(std::string_view bytes) { return {decode_tensors(kCheckpointKind, bytes)}; }

void save_checkpoint(const std::string& folder, const Checkpoint& checkpoint) {
  const std::string bytes = encode(checkpoint);
  const std::string unfinished = folder + "/" + kUnfinished, newest = folder + "/" + kNewest,
                    previous = folder + "/" + kPrevious;
  auto error = make_folder_durably(folder);
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
