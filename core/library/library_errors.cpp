#include "core/library/library_errors.h"

#include <string>
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
  std::string said = error.what_without_backtrace();
  said.erase(said.find_last_not_of(" \n") + 1);
  if (is_out_of_memory(error)) throw OutOfMemory(said);
  throw Error(is_of_a_device(error) ? ErrorKind::kDevice : ErrorKind::kInternal, said);
}

}  // namespace approx
