// What disks hold and have left.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

namespace approx {

// The nearest folder at or above `path` that is there: what is not yet is made in it.
std::string existing_folder(std::filesystem::path path);

// What a file takes, or all files of a folder at any depth; nothing where there is none.
std::optional<int64_t> stored_bytes(const std::filesystem::path& path);

// What is left for us on the disk of a folder; nothing where the system does not say.
std::optional<int64_t> free_bytes(const std::string& folder);

}  // namespace approx
