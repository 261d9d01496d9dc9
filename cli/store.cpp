#include "cli/store.h"

#include <cstdio>
#include <filesystem>

#include "base/error.h"
#include "cli/text.h"
#include "results/store/run_folders.h"
#include "results/store/store_file.h"

namespace approx {

RunStore open_store(const GlobalOptions& options) {
  check_named(options.db);
  if (options.default_db) {
    // The user's data folder need not be there yet; a folder that the user named must be.
    const auto folder = std::filesystem::path(options.db).parent_path();
    std::error_code error;
    std::filesystem::create_directories(folder, error);
    if (error) {
      throw usage_error(
          "{}: the folder of the default database cannot be made ({}); give --db FILE",
          printable(folder.string()), error.message());
    }
  }
  StoreOptions store;
  store.notice = [](const std::string& message) {
    std::fputs(("approxtrain: " + message + "\n").c_str(), stderr);
  };
  try {
    return RunStore(options.db, RunStore::Mode::kWrite, store);
  } catch (const std::filesystem::filesystem_error& error) {
    throw database_error("{}: {}", printable(options.db), error.code().message());
  }
}

void read_store_here(GlobalOptions& options) {
  std::error_code error;
  const bool exists = std::filesystem::exists(options.db, error);
  if (!options.default_db || options.db.empty() || exists || error) return;
  const auto here = stores_in(".");
  if (here.empty()) return;
  const bool one = here.size() == 1;
  std::fputs(fmt::format("approxtrain: {} is not there; {} {}{}\n", printable(options.db),
                         one ? "reading" : "this folder has",
                         printable(fmt::format("{}", fmt::join(here, ", "))),
                         one ? " of this folder" : ": choose one with --db")
                 .c_str(),
             stderr);
  if (!one) return;
  options.db = here.front();
  options.default_db = false;
}

}  // namespace approx
