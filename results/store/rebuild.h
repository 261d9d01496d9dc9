// A database that was lost, made anew from what is beside it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace approx {

struct Rebuilt {
  int64_t runs = 0, kernel_runs = 0, study_runs = 0;
  std::vector<std::string> missing;    // what cannot be had any more, one line each
  std::vector<int64_t> more_journals;  // of stores that this one took the place of
  // What a program that died left beside the old database (journal_left): it must not stay where
  // the new one takes that one's place.
  std::string old_journal;
};

// Writes to `out` the database that was at `db`, from its journal (results/store/journal.h) and the
// logs of its runs: equal to it in every row. Folders of runs that no journal tells of, because
// they are older than it, are taken by their config.json and events.jsonl, into the experiment
// "rebuilt"; how their processes ended is not known of these. `journal`: its number, 0 for the last
// one. Throws Error(kUsage) where `out` exists, Error(kDatabase) where there is nothing to make it
// from or it cannot be written.
Rebuilt rebuild_store(const std::string& db, const std::string& out, int64_t journal = 0);

}  // namespace approx
