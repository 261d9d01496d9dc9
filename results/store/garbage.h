// What lies beside a database and no result needs.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace approx {

struct GarbageOptions {
  bool finished = false;  // folders of the attempts that count, too
  bool backups = false;   // copies of before a migration, too
  bool dry_run = false;   // remove nothing
};

struct Garbage {
  std::string path, what;  // "folders of attempts that a later one replaced"
  int64_t bytes = 0;
};

struct GarbageFound {
  std::vector<Garbage> garbage;
  std::vector<std::string> kept;  // what holds a result that the database has not, one line each
};

// Finds what no result needs beside the store at `path`, tells `say`, then removes it and gives the
// database's free pages back. Folders of runs that it ended go only when a copy that the journal
// begins with (results/store/journal.h) was found to have these runs; what has a result that the
// store has not is kept. Throws Error(kDatabase) where a sweep is at work, where there is no store
// and where something cannot be removed.
void collect_garbage(const std::string& path, const GarbageOptions& options,
                     const std::function<void(const GarbageFound&)>& say);

}  // namespace approx
