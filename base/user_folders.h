// Folders that a user has without naming them to this program: for data, and for temporary files.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace approx {

// The folder for a user's data if no flag names another.
struct DataFolder {
  std::string path;     // $XDG_DATA_HOME/approxtrain or ~/.local/share/approxtrain; may be missing
  std::string problem;  // why there is none ("HOME is not set"); then `path` is ""
};

// Finds the folder from the current environment. The XDG specification says to ignore relative
// values.
DataFolder data_folder();

// Folders in which temporary folders may be made, absolute, in the order of trial: TMPDIR, unless
// it is unset or empty, then /tmp.
std::vector<std::string> temporary_parents();

// Makes a folder PREFIXxxxxxx, only for this user, in the first of `parents` where that is
// possible; returns its path. Throws Error(kUsage), which names TMPDIR and the fault of each
// folder.
std::string make_temporary_folder(std::string_view prefix,
                                  const std::vector<std::string>& parents = temporary_parents());

}  // namespace approx
