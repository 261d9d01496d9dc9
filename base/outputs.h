// Protects files from outputs that the user names (`--out`). Protected are files that the command
// reads, and those of a store. Files are compared by device and inode, whatever they are called.
#pragma once

#include <string>
#include <string_view>

namespace approx {

// From now on no output of this process replaces that file, or creates it where it is missing.
// `why` is the reason in an error: "is the database of this command". Throws Error(kUsage) where
// standard output is that file.
void keep_file(const std::string& path, const std::string& why);

// Protects a folder and everything in it, as keep_file() protects a file.
void keep_folder(const std::string& path, const std::string& why);

// Protects a file because this command reads it.
void note_input(const std::string& path);

// Whether note_input() was called with that file, under any name.
bool is_input(const std::string& path);

// Checks the name of an output. Throws Error(kUsage), which names `path`, where the output would
// replace a protected file or lie in a protected folder, also through links of either kind. Throws
// it too where the output would replace a database, a packed data set, recorded operands or a
// checkpoint, recognised by their first bytes. `replaced` names the one of these kinds that it may
// replace (kPackedDataSet).
void check_output(const std::string& path, std::string_view replaced = "");

inline constexpr std::string_view kPackedDataSet = "a packed data set";

// Calls check_output, then write_file (base/files.h).
void write_output(const std::string& path, std::string_view text);

// Whether two paths lead to one file or folder; where neither exists, whether they name one.
bool is_same_place(const std::string& a, const std::string& b);

}  // namespace approx
