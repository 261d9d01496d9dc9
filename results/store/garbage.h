// Files beside a database that no result needs.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace approx {

struct GarbageOptions {
  bool finished = false;  // also folders of the attempts that count
  bool backups = false;   // also copies made before a migration
  bool dry_run = false;   // remove nothing
};

struct Garbage {
  std::string path, what;  // "folders of attempts that a later one replaced"
  int64_t bytes = 0;
};

struct GarbageFound {
  std::vector<Garbage> garbage;
  // Paths that hold a result which the database has not, one line each.
  std::vector<std::string> kept;
};

// Finds the files beside the store at `path` that no result needs and reports them to `say`. Then
// it removes them and gives the database's free pages back. Folders of runs that it ended go only
// if a copy at the beginning of the journal (results/store/journal.h) is found to have these runs.
// Folders with a result that the store has not are kept. Throws Error(kDatabase) where a sweep is
// at work, where there is no store and where something cannot be removed.
void collect_garbage(const std::string& path, const GarbageOptions& options,
                     const std::function<void(const GarbageFound&)>& say);

}  // namespace approx
