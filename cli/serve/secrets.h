// Secrets of one process.
#pragma once

#include <string>
#include <string_view>

namespace approx {

// 128 bits of the system's random source as 32 hexadecimal digits. Throws Error(kInternal) where
// there is none.
std::string random_secret();

// Whether both are the same text. How long it takes depends on their lengths alone.
bool same_secret(std::string_view a, std::string_view b);

}  // namespace approx
