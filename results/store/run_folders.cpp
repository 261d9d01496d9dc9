#include "results/store/run_folders.h"

#include <sys/stat.h>

#include <filesystem>

#include "base/outputs.h"
#include "base/user_folders.h"
#include "results/store/database.h"
#include "results/store/run_lock.h"

namespace approx {
namespace {

// What a name has behind the twelve digits of a key that it begins with.
std::optional<std::string_view> behind_short_key(std::string_view name) {
  constexpr size_t kDigits = 12;
  const auto key = name.substr(0, kDigits);
  if (key.size() < kDigits || key.find_first_not_of("0123456789abcdef") != key.npos) {
    return std::nullopt;
  }
  return name.substr(kDigits);
}

}  // namespace

void check_named(const std::string& db) {
  if (!db.empty()) return;
  throw usage_error(
      "--db: no database is named, and there is no folder for the default one ({}); give --db FILE",
      data_folder().problem);
}

std::string path_beside(const std::string& db, const std::string& ending) {
  check_named(db);
  std::filesystem::path path(db);
  // With a dot what is beside "t" would be beside "t.db" as well.
  if (path.extension() != ".db") return db + "-" + ending.substr(1);
  return path.replace_extension().string() + ending;
}

void keep_store(const std::string& db) {
  if (db.empty()) return;
  std::error_code ignored;
  // SQLite's own files are beside the file itself where the path is a link.
  const auto file = std::filesystem::weakly_canonical(db, ignored).string();
  for (const auto& name : {db, file}) {
    if (name.empty()) continue;
    keep_file(name, "is a database of this command");
    const std::string belongs = "belongs to the database " + db;
    for (const char* ending : {"-journal", "-wal", "-shm"}) keep_file(name + ending, belongs);
    for (const auto& migration : store_migrations()) {
      keep_file(fmt::format("{}.v{}.backup", name, migration.version), belongs);
    }
    for (const char* ending : {".runs", ".slurm"}) {
      const std::string folder = path_beside(name, ending);
      keep_folder(folder, fmt::format("is or lies in {}, which {}", folder, belongs));
    }
  }
}

std::string runs_directory(const std::string& db) { return path_beside(db, ".runs"); }

bool is_numbered_name(std::string_view name) {
  const auto number = behind_short_key(name);
  return number && number->size() > 1 && number->front() == '-' &&
         number->find_first_not_of("0123456789", 1) == number->npos;
}

bool is_checkpoint_name(std::string_view name) { return behind_short_key(name) == kCheckpointEnd; }

bool sweep_at_work(const std::string& db) {
  const std::string locks = runs_directory(db) + "/sweeps";
  std::error_code error;
  for (const auto& file : std::filesystem::directory_iterator(locks, error)) {
    if (RunLock::held(locks, file.path().filename().string())) return true;
  }
  return false;
}

std::optional<int64_t> written_ns(const std::string& path) {
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0) return std::nullopt;
  return int64_t{1'000'000'000} * status.st_mtim.tv_sec + status.st_mtim.tv_nsec;
}

}  // namespace approx
