// Rebuilds a lost database from the files beside it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace approx {

struct Rebuilt {
  int64_t runs = 0, kernel_runs = 0, study_runs = 0;
  std::vector<std::string> missing;  // data that cannot be restored, one line each
  // Numbers of further journals, of stores that this one replaced.
  std::vector<int64_t> more_journals;
  // The journal that a program which died left beside the old database (journal_left). It must not
  // stay where the new database replaces the old one.
  std::string old_journal;
};

// Rebuilds the database that was at `db` in `out`, from its journal (results/store/journal.h) and
// the logs of its runs. The result is equal to it in every row. Folders older than the journals are
// in none of them. They are read by their config.json and events.jsonl, into the experiment
// "rebuilt"; how their processes ended is unknown. `journal` is the number of the journal, 0 for
// the last one. Throws Error(kUsage) where `out` exists, and Error(kDatabase) where there is no
// data to rebuild from or it cannot be written.
Rebuilt rebuild_store(const std::string& db, const std::string& out, int64_t journal = 0);

}  // namespace approx
