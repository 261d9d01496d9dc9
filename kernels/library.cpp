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

}  // namespace

void open_kernels(const std::string& file) {
  // Python opens a library for itself alone; what is opened next must see it. (RTLD_NOLOAD: only
  // the visibility changes. It fails for a program, which everybody sees anyway.)
  dlopen(own_file().c_str(), RTLD_NOW | RTLD_GLOBAL | RTLD_NOLOAD);
  if (dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL) == nullptr) {
    throw Error(ErrorKind::kDevice, fmt::format("{}: {}", file, dlerror()));
  }
}

bool open_cuda_kernels() {
  const auto file = own_file().replace_filename(kCudaKernels);
  std::error_code unreadable;
  if (!std::filesystem::exists(file, unreadable)) return false;
  open_kernels(file.string());
  return true;
}

}  // namespace approx
