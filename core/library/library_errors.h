// LibTorch's errors as the program's side of the door knows them.
#pragma once

#include <c10/util/Exception.h>

#include <utility>

namespace approx {

// Throws OutOfMemory where memory ran out, of the machine or of a device, Error(kDevice) where a
// device failed, and Error(kInternal) for all others: with what it says, and without the stack of
// calls that LibTorch adds.
[[noreturn]] void throw_as_own(const c10::Error& error);

// What work() returns. An error of LibTorch comes out as one of ours.
template <typename Work>
auto with_own_errors(Work&& work) {
  try {
    return std::forward<Work>(work)();
  } catch (const c10::Error& error) {
    throw_as_own(error);
  }
}

}  // namespace approx
