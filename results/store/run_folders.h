// Where a database keeps what does not go into it: beside it.
#pragma once

#include <string>
#include <string_view>

namespace approx {

// The path of a database, ".db" left out, with `ending` behind it: of "results.v1" and "results.v2"
// each has its own.
std::string path_beside(const std::string& db, const std::string& ending);

// The directory of runs of a database: beside it, with ".runs".
std::string runs_directory(const std::string& db);

// How the name of a folder in it ends that holds checkpoints, of a run key and not of one attempt.
inline constexpr std::string_view kCheckpointEnd = ".checkpoint";

// What a worker is to do and what it reported, as files of the directory of its run.
inline constexpr const char* kTaskFile = "config.json";
inline constexpr const char* kEventsFile = "events.jsonl";

}  // namespace approx
