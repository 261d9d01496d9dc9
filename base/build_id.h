// What a loaded program or library was linked from, by the number that the linker gave it.
#pragma once

#include <string>

namespace approx {

// The build id (an ELF note, a checksum of the content) of the program or library that holds
// `address`, such as that of one of its functions, as hexadecimal digits. "" where it has none.
std::string build_id_at(const void* address);

}  // namespace approx
