// Files that the user names to be written (`--out`), and those that none of them may replace: what
// the command reads, and what belongs to a store. Files are compared as files, by device and inode,
// whatever they are called.
#pragma once

#include <string>
#include <string_view>

namespace approx {

// From now on no output of this process replaces that file, or makes it where it is not there.
// `why` is what an error says of it: "is the database of this command". Throws Error(kUsage) where
// standard output is that file.
void keep_file(const std::string& path, const std::string& why);

// Nor that folder, or anything in it.
void keep_folder(const std::string& path, const std::string& why);

// A file that this command reads.
void note_input(const std::string& path);

// Whether note_input() was told of that file, by whichever name.
bool is_input(const std::string& path);

// Throws Error(kUsage) that names `path` where an output of that name would replace a file that is
// kept or lie in a folder that is, through links of either kind too; and where it would replace a
// file that is known by its first bytes as a database, a packed data set, recorded operands or a
// checkpoint. `replaced`: the one of these kinds that it may replace (kPackedDataSet).
void check_output(const std::string& path, std::string_view replaced = "");

inline constexpr std::string_view kPackedDataSet = "a packed data set";

// check_output, then write_file (base/files.h).
void write_output(const std::string& path, std::string_view text);

// Whether two paths are of one file or folder; where neither is there, whether they name one.
bool is_same_place(const std::string& a, const std::string& b);

}  // namespace approx
