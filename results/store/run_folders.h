// The folders and files beside a database.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace approx {

// Throws Error(kUsage) where `db` is "". Then no database was named, and the folder of the default
// one cannot be used.
void check_named(const std::string& db);

// The path beside a database with `ending` (".runs"): "t.runs" for "t.db". A name that does not end
// in ".db" stays whole, with a dash: "t-runs" for "t"; no other database has that path.
std::string path_beside(const std::string& db, const std::string& ending);

// Registers all files of a database with base/outputs.h, so that no output of this process replaces
// them. They are the file, SQLite's and migrations' files beside it, and its folders of runs and of
// cluster sweeps. Does nothing where `db` is "".
void keep_store(const std::string& db);

// The directory of a database's runs.
std::string runs_directory(const std::string& db);

// The ending of the name of a folder with checkpoints. The folder is named after a run key, not
// after one attempt.
inline constexpr std::string_view kCheckpointEnd = ".checkpoint";

// The files in the directory of a run: its worker's task, and the events that the worker reported.
inline constexpr const char* kTaskFile = "config.json";
inline constexpr const char* kEventsFile = "events.jsonl";

// Whether a name is one that this program gives. Folders of runs and the lock of a sweep are named
// "0123456789ab-1", folders of checkpoints "0123456789ab.checkpoint". No other file is ever removed
// or used as one.
bool is_numbered_name(std::string_view name);
bool is_checkpoint_name(std::string_view name);

// Whether a sweep holds its lock on a database, as it does from before its first run until after
// its last.
bool sweep_at_work(const std::string& db);

// When a file was last written, in nanoseconds since 1970; nothing where there is no file.
std::optional<int64_t> written_ns(const std::string& path);

}  // namespace approx
