#include "cli/store.h"

#include <cstdio>
#include <filesystem>

#include "base/error.h"
#include "cli/text.h"

namespace approx {

RunStore open_store(const GlobalOptions& options) {
  if (options.default_db) {
    // The user's data folder need not be there yet; a folder that the user named must be.
    std::error_code ignored;
    std::filesystem::create_directories(std::filesystem::path(options.db).parent_path(), ignored);
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

}  // namespace approx
