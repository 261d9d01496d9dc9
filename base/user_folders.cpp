#include "base/user_folders.h"

#include <sys/stat.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <system_error>

#include "base/error.h"

namespace approx {
namespace {

namespace fs = std::filesystem;

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

// Why a folder that may be missing cannot be looked into; "" where it can.
std::string problem_with(const fs::path& folder) {
  struct stat status {};
  if (::stat((folder / "approxtrain.db").c_str(), &status) == 0 || errno == ENOENT) return "";
  return fmt::format("{}: {}", folder.string(), std::strerror(errno));
}

DataFolder checked(const fs::path& folder) {
  const std::string problem = problem_with(folder);
  return problem.empty() ? DataFolder{.path = folder.string(), .problem = ""}
                         : DataFolder{.path = "", .problem = problem};
}

}  // namespace

DataFolder data_folder() {
  const std::string xdg = variable("XDG_DATA_HOME"), home = variable("HOME");
  if (xdg.starts_with('/')) return checked(fs::path(xdg) / "approxtrain");
  if (home.starts_with('/')) return checked(fs::path(home) / ".local/share/approxtrain");
  return {.path = "",
          .problem = home.empty() ? "HOME is not set" : fmt::format("HOME is relative: {}", home)};
}

std::vector<std::string> temporary_parents() {
  std::vector<std::string> parents;
  std::error_code error;
  const std::string given = variable("TMPDIR");
  if (!given.empty()) {
    const auto path = fs::absolute(given, error);
    parents.push_back(error ? given : path.string());
  }
  parents.emplace_back("/tmp");
  return parents;
}

std::string make_temporary_folder(std::string_view prefix,
                                  const std::vector<std::string>& parents) {
  std::vector<std::string> problems;
  for (const auto& parent : parents) {
    std::string name = fmt::format("{}/{}XXXXXX", parent, prefix);
    if (::mkdtemp(name.data()) != nullptr) return name;
    problems.push_back(fmt::format("{}: {}", parent, std::strerror(errno)));
  }
  throw usage_error("no temporary folder can be made ({}); set TMPDIR to a folder to write in",
                    fmt::join(problems, "; "));
}

}  // namespace approx
