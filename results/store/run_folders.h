// Where a database keeps what does not go into it: beside it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace approx {

// Throws Error(kUsage) where `db` is "": no database was named, and the folder of the default one
// cannot be used.
void check_named(const std::string& db);

// What a database keeps beside it, by `ending` (".runs"): "t.runs" of "t.db". A name that does not
// end in ".db" stays whole, with a dash: "t-runs" of "t", which no other database has.
std::string path_beside(const std::string& db, const std::string& ending);

// Tells base/outputs.h of all that belongs to a database, so that no output of this process
// replaces it: the file, what SQLite and migrations lay beside it, its folders of runs and of
// sweeps on a cluster. Nothing where `db` is "".
void keep_store(const std::string& db);

// The directory of runs of a database.
std::string runs_directory(const std::string& db);

// How the name of a folder in it ends that holds checkpoints, of a run key and not of one attempt.
inline constexpr std::string_view kCheckpointEnd = ".checkpoint";

// What a worker is to do and what it reported, as files of the directory of its run.
inline constexpr const char* kTaskFile = "config.json";
inline constexpr const char* kEventsFile = "events.jsonl";

// Whether a name is one that this program gives: "0123456789ab-1" to a folder of a run and to the
// lock of a sweep, "0123456789ab.checkpoint" to a folder of checkpoints. Nothing else is ever
// removed or taken for one.
bool is_numbered_name(std::string_view name);
bool is_checkpoint_name(std::string_view name);

// Whether a sweep holds its lock on a database: from before its first run until after its last.
bool sweep_at_work(const std::string& db);

// When a file was last written, in nanoseconds since 1970; nothing where there is none.
std::optional<int64_t> written_ns(const std::string& path);

}  // namespace approx
