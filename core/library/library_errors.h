// Converts LibTorch's errors into those that core/engine/engine.h declares.
#pragma once

#include <c10/util/Exception.h>

#include <utility>

namespace approx {

// Throws OutOfMemory if the machine or a device ran out of memory, Error(kDevice) if a device
// failed, and Error(kInternal) for all other errors. The message is that of `error`, without the
// stack of calls that LibTorch adds.
[[noreturn]] void throw_as_own(const c10::Error& error);

// Returns work(). Throws errors of LibTorch as throw_as_own() does.
template <typename Work>
auto with_own_errors(Work&& work) {
  try {
    return std::forward<Work>(work)();
  } catch (const c10::Error& error) {
    throw_as_own(error);
  }
}

}  // namespace approx
