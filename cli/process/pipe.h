// Pipes from a process that this one starts.
#pragma once

#include <functional>
#include <string_view>
#include <utility>

#include "base/files.h"

namespace approx {

// Its ends to read, which does not wait, and to write. Throws Error(kInternal).
std::pair<Descriptor, Descriptor> make_pipe();

// One read, which does not wait: what there is. Closes the pipe at its end. Whether there may be
// more.
bool read_some(Descriptor& pipe, const std::function<void(std::string_view bytes)>& use);

}  // namespace approx
