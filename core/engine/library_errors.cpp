#include "core/engine/library_errors.h"

#include <string_view>

#include "core/engine/engine.h"

namespace approx {
namespace {

// What has no type of its own has only words.
bool says(const c10::Error& error, std::string_view words) {
  return std::string_view(error.what_without_backtrace()).find(words) != std::string_view::npos;
}

bool is_out_of_memory(const c10::Error& error) {
  return dynamic_cast<const c10::OutOfMemoryError*>(&error) != nullptr ||
         says(error, "can't allocate memory") || says(error, "out of memory") ||
         says(error, "_ALLOC_FAILED");  // of cuBLAS and cuDNN
}

bool is_of_a_device(const c10::Error& error) {
  return dynamic_cast<const c10::AcceleratorError*>(&error) != nullptr ||
         says(error, "CUDA error") || says(error, "cuDNN error");
}

}  // namespace

void throw_as_own(const c10::Error& error) {
  if (is_out_of_memory(error)) throw OutOfMemory(error.what());
  if (is_of_a_device(error)) throw Error(ErrorKind::kDevice, error.what_without_backtrace());
}

}  // namespace approx
