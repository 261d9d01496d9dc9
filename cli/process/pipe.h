// Pipes from a process that this one starts.
#pragma once

#include <functional>
#include <string_view>
#include <utility>

#include "base/files.h"

namespace approx {

// Makes a pipe: the end to read, which does not block, and the end to write. Throws
// Error(kInternal).
std::pair<Descriptor, Descriptor> make_pipe();

// Reads once, without waiting, what is available. Closes the pipe at its end. Returns whether there
// may be more.
bool read_some(Descriptor& pipe, const std::function<void(std::string_view bytes)>& use);

}  // namespace approx
