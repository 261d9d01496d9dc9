// What libFuzzer and the driver call, and what targets share.
#include <unistd.h>

#include <cstring>
#include <filesystem>

#include "tests/fuzz/fuzz.h"

namespace approx::fuzz {
namespace {

namespace fs = std::filesystem;

constexpr size_t kLongestMessage = 20'000;

class ScratchFolder {
 public:
  ScratchFolder() {
    const fs::path in_memory = "/dev/shm";
    std::error_code ignored;
    const bool usable =
        fs::is_directory(in_memory, ignored) && access(in_memory.c_str(), W_OK) == 0;
    path_ = ((usable ? in_memory : fs::temp_directory_path()) / "approx-fuzz-XXXXXX").string();
    expect(mkdtemp(path_.data()) != nullptr, "no scratch folder");
  }
  ~ScratchFolder() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

}  // namespace

bool accepted(ErrorKind kind, const std::function<void()>& work) {
  try {
    work();
    return true;
  } catch (const Error& error) {
    if (memory_is_short) return false;
    const std::string_view message = error.what();
    // What a user typed may be any bytes, and is made printable where it is shown (cli/main.cpp).
    const bool one_line = kind == ErrorKind::kUsage || message.find('\n') == message.npos;
    const bool sound =
        error.kind() == kind && one_line && !message.empty() && message.size() <= kLongestMessage;
    if (!sound) {
      fail(fmt::format("an error of kind {} with {} bytes: {}", static_cast<int>(error.kind()),
                       message.size(), message.substr(0, kLongestMessage)));
    }
    return false;
  }
}

const std::string& scratch_folder() {
  static const ScratchFolder folder;
  return folder.path();
}

std::string scratch_file(const std::string& name, Bytes content) {
  std::string path = scratch_folder() + "/" + name;
  std::FILE* file = std::fopen(path.c_str(), "wb");
  // Nothing may have no address, which fwrite insists on.
  expect(file != nullptr && (content.empty() || std::fwrite(content.data(), 1, content.size(),
                                                            file) == content.size()),
         "the scratch folder cannot be written to");
  std::fclose(file);
  return path;
}

}  // namespace approx::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  approx::fuzz::run({data, size});
  return 0;
}

extern "C" int LLVMFuzzerInitialize(int* /*argc*/, char*** /*argv*/) {
  const char* folder = std::getenv("APPROXTRAIN_FUZZ_SEEDS");
  if (folder == nullptr) return 0;
  size_t number = 0;
  for (const auto& seed : approx::fuzz::seeds()) {
    const std::string path = fmt::format("{}/seed-{:03}", folder, number++);
    std::FILE* file = std::fopen(path.c_str(), "wb");
    approx::fuzz::expect(file != nullptr, "seeds cannot be written");
    std::fwrite(seed.data(), 1, seed.size(), file);
    std::fclose(file);
  }
  std::exit(0);
}
