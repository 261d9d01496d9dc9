// The folders that a user has without having named them to this program: for data, and for what is
// gone soon.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace approx {

// Where this program keeps a user's data where no flag says otherwise.
struct DataFolder {
  std::string path;     // $XDG_DATA_HOME/approxtrain or ~/.local/share/approxtrain; may be missing
  std::string problem;  // why there is none ("HOME is not set"); `path` is "" then
};

// By the environment as it is now. The XDG specification has relative values ignored.
DataFolder data_folder();

// Where temporary folders may be made, absolute, in the order in which they are tried: TMPDIR,
// unless it is unset or empty, then /tmp.
std::vector<std::string> temporary_parents();

// Makes a folder PREFIXxxxxxx, of this user alone, in the first of `parents` in which one can be
// made; returns its path. Throws Error(kUsage) that names TMPDIR and each folder with what is wrong
// with it.
std::string make_temporary_folder(std::string_view prefix,
                                  const std::vector<std::string>& parents = temporary_parents());

}  // namespace approx
