// Which of LibTorch's errors say that memory ran out.
#pragma once

#include <c10/util/Exception.h>

namespace approx {

// Of the machine or of a device.
bool is_out_of_memory(const c10::Error& error);

}  // namespace approx
