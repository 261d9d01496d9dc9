// Used and free space of disks.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

namespace approx {

// The nearest existing folder at or above `path`. Missing parts of `path` would be created in it.
std::string existing_folder(std::filesystem::path path);

// The size in bytes of a file, or of all files of a folder at any depth; nothing where there is
// none.
std::optional<int64_t> stored_bytes(const std::filesystem::path& path);

// The space that is free for this user on the disk of a folder; nothing where the system does not
// report it.
std::optional<int64_t> free_bytes(const std::string& folder);

}  // namespace approx
