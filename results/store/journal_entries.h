// What the lines of a journal say, and what they do to a store.
#pragma once

#include <string>
#include <vector>

#include "results/store/ending.h"
#include "results/store/experiment_rows.h"
#include "results/store/journal.h"

namespace approx {

// What is done to a store is an entry of its journal, by which RunStore does it and a rebuild does
// it again. The functions make them.

// An experiment as it was asked for; its runs are the parts before it, `members` of them.
Json experiment_entry(const Json& experiment, int64_t members);
// A run of it as a part; `config` is the JSON of one whose cell is new, else "".
std::string member_part(Json member, const std::string& config);

// A run that begins, after the end of the one that died at it before, if any.
Json begin_entry(Json run, const std::optional<RunEnding>& settled);
Json end_entry(const RunEnding& ending);
// A run that had begun and is taken back.
Json discard_entry(const std::string& uid);
Json study_entry(const Json& environment, const StudyRecord& study);
Json kernels_entry(const Json& environment, const std::vector<Json>& rows,
                   const std::string& experiment);
// All rows are written anew, with those of the stores `from`.
Json rewritten_entry(const std::vector<std::string>& from);

// Whether the store has what the entry tells.
bool is_in_store(SQLite::Database& db, const Json& entry);

// Does again what an entry tells, inside the caller's transaction. The logs of runs are looked for
// in `runs`, then where they were written. Returns what of it cannot be had any more, one line
// each. Throws where the entry is not one that this program wrote.
std::vector<std::string> apply_entry(SQLite::Database& db, const JournalEntry& entry,
                                     const std::string& runs);

}  // namespace approx
