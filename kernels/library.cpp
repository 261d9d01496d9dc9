#include "kernels/library.h"

#include <dlfcn.h>

#include <filesystem>

#include "base/error.h"

namespace approx {
namespace {

constexpr const char* kCudaKernels = "libapproxtrain_cuda.so";

// The file that this function was loaded from.
std::filesystem::path own_file() {
  Dl_info info;
  if (dladdr(reinterpret_cast<const void*>(&open_kernels), &info) == 0) return {};
  return info.dli_fname;
}

std::filesystem::path beside_own(const std::string& file) {
  return own_file().replace_filename(file);
}

}  // namespace

void open_kernels(const std::string& file) {
  // Python opens a library for itself alone; what is opened next must see it. (RTLD_NOLOAD: only
  // the visibility changes. It fails for a program, which everybody sees anyway.)
  dlopen(own_file().c_str(), RTLD_NOW | RTLD_GLOBAL | RTLD_NOLOAD);
  const auto path = file.find('/') == std::string::npos ? beside_own(file).string() : file;
  if (dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL) == nullptr) {
    throw Error(ErrorKind::kDevice, fmt::format("{}: {}", file, dlerror()));
  }
}

bool is_beside(const std::string& file) {
  std::error_code unreadable;
  return std::filesystem::exists(beside_own(file), unreadable);
}

bool open_beside(const std::string& file) {
  if (!is_beside(file)) return false;
  open_kernels(file);
  return true;
}

bool open_cuda_kernels() { return open_beside(kCudaKernels); }

}  // namespace approx
