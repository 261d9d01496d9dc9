// The entries of a journal, and their effect on a store.
#pragma once

#include <string>
#include <vector>

#include "results/store/ending.h"
#include "results/store/experiment_rows.h"
#include "results/store/journal.h"

namespace approx {

// A change of a store is an entry of its journal. RunStore makes the change by it, and a rebuild
// repeats it. These functions make entries.

// An experiment as it was asked for. Its `members` runs are the parts before the entry.
Json experiment_entry(const Json& experiment, int64_t members);
// A run of an experiment as a part; `config` is its JSON if its cell is new, else "".
std::string member_part(Json member, const std::string& config);

// A run that begins; `settled` is the end of the dead attempt before it, if any.
Json begin_entry(Json run, const std::optional<RunEnding>& settled);
Json end_entry(const RunEnding& ending);
// A run that had begun and is taken back.
Json discard_entry(const std::string& uid);
Json study_entry(const Json& environment, const StudyRecord& study);
Json kernels_entry(const Json& environment, const std::vector<Json>& rows,
                   const std::string& experiment);
// A rewrite of all rows, together with those of the stores `from`.
Json rewritten_entry(const std::vector<std::string>& from);

// Whether the store contains the change of the entry.
bool is_in_store(SQLite::Database& db, const Json& entry);

// Repeats the change of an entry, inside the caller's transaction. The logs of runs are searched in
// `runs`, then where they were written. Returns what cannot be restored, one line each. Throws
// where this program did not write the entry.
std::vector<std::string> apply_entry(SQLite::Database& db, const JournalEntry& entry,
                                     const std::string& runs);

}  // namespace approx
