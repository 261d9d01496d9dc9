// The build id of a loaded program or library, which its linker wrote.
#pragma once

#include <string>

namespace approx {

// The build id (an ELF note, a checksum of the content) of the program or library that contains
// `address`, as hexadecimal digits. `address` may be that of one of its functions. "" where it has
// none.
std::string build_id_at(const void* address);

}  // namespace approx
