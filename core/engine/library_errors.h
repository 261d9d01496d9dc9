// LibTorch's errors as the program's side of the door knows them.
#pragma once

#include <c10/util/Exception.h>

#include <utility>

namespace approx {

// Throws OutOfMemory where memory ran out, of the machine or of a device, and Error(kDevice) where
// a device failed; returns for all others.
void throw_as_own(const c10::Error& error);

// What work() returns. An error of LibTorch that has a meaning of ours comes out as that.
template <typename Work>
auto with_own_errors(Work&& work) {
  try {
    return std::forward<Work>(work)();
  } catch (const c10::Error& error) {
    throw_as_own(error);
    throw;
  }
}

}  // namespace approx
