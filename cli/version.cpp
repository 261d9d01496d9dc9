#include "cli/version.h"

#include <fmt/format.h>
#include <sqlite3.h>

#include "base/params.h"
#include "generated/build_info.h"

namespace approx {

std::string version_text(const std::string& format) {
  const bool dirty = APPROX_GIT_DIRTY != 0;
  if (format == "json") {
    const Json version = {{"schema", "approxtrain.version/1"}, {"version", APPROX_VERSION},
                          {"git_sha", APPROX_GIT_SHA},         {"dirty", dirty},
                          {"build_type", APPROX_BUILD_TYPE},   {"compiler", APPROX_COMPILER},
                          {"flags", APPROX_BUILD_FLAGS},       {"sqlite", sqlite3_libversion()}};
    return json_text(version, 2) + "\n";
  }
  const std::string sha = APPROX_GIT_SHA;
  return fmt::format("approxtrain {} ({}{}, {}, {}, SQLite {})\n", APPROX_VERSION,
                     sha.substr(0, sha == "unknown" ? sha.npos : 12), dirty ? "-dirty" : "",
                     APPROX_BUILD_TYPE, APPROX_COMPILER, sqlite3_libversion());
}

}  // namespace approx
