#include "core/engine/out_of_memory.h"

#include <string_view>

namespace approx {

bool is_out_of_memory(const c10::Error& error) {
  if (dynamic_cast<const c10::OutOfMemoryError*>(&error) != nullptr) return true;
  // The allocator of the CPU and CUDA itself have no type for it, only words.
  const std::string_view message = error.what_without_backtrace();
  return message.find("can't allocate memory") != std::string_view::npos ||
         message.find("out of memory") != std::string_view::npos;
}

}  // namespace approx
