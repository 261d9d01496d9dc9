#include "cli/sweep/run_paths.h"

#include <sys/stat.h>

#include <cerrno>
#include <filesystem>
#include <system_error>

#include "base/error.h"
#include "cli/text.h"

namespace approx {
namespace {

namespace fs = std::filesystem;

std::string short_key(const std::string& run_key) { return run_key.substr(0, 12); }

}  // namespace

std::string make_run_directory(const std::string& db, const std::string& run_key, int64_t attempt) {
  const std::string parent = runs_directory(db);
  auto error = make_folder_durably(parent);
  // A directory that is there already belongs to an attempt that never came to be recorded.
  for (int64_t number = attempt; !error; ++number) {
    std::string path = fmt::format("{}/{}-{}", parent, short_key(run_key), number);
    if (mkdir(path.c_str(), 0777) != 0) {
      if (errno != EEXIST) error = std::error_code(errno, std::generic_category());
      continue;
    }
    // The log in it is to be there after a power loss.
    error = sync_folder(parent);
    if (!error) return path;
  }
  throw Error(ErrorKind::kInternal,
              fmt::format("{}: {}; the folder beside the database must be writable",
                          printable(parent), error.message()));
}

std::string checkpoint_directory(const std::string& db, const std::string& run_key) {
  return fs::absolute(
             fmt::format("{}/{}{}", runs_directory(db), short_key(run_key), kCheckpointEnd))
      .string();
}

void remove_checkpoints(const std::string& db, const std::string& run_key) {
  std::error_code ignored;
  fs::remove_all(checkpoint_directory(db, run_key), ignored);
}

}  // namespace approx
