// Where a database keeps what does not go into it: beside it.
#pragma once

#include <string>

namespace approx {

// The directory of runs of a database: its path, ".db" left out, with ".runs".
std::string runs_directory(const std::string& db);

// What a worker is to do and what it reported, as files of the directory of its run.
inline constexpr const char* kTaskFile = "config.json";
inline constexpr const char* kEventsFile = "events.jsonl";

}  // namespace approx
