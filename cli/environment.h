// Where a result was made: the machine, the program and what else ran at the
// time.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/params.h"

namespace approx {

// hostname, fingerprint (sha256 of the machine's identity), cpu_model,
// instruction_sets, n_cores, physical_cores (0: not told), cpu_limit (cores that our cgroup may
// use), ram_bytes, available_bytes, memory_limit_bytes (of our cgroup), governor, kernel, boot_id,
// load_average (1, 5, 15 min), version, git_sha, dirty, compiler, flags, build_type. What
// cannot be read is "" or null. Cheap; opens no library.
Json program_environment();

// The experiments and recipes among `files` that came with the program and have changed since it
// was built, by their names ("experiments/quickstart.toml").
std::vector<std::string> changed_experiments(const std::vector<std::string>& files);

// Says so in an environment: a run of a changed file is as dirty as one of changed sources.
void mark_changed(Json& environment, const std::vector<std::string>& changed);

// `program` with the engine's entries added; the engine's win.
Json merged_environment(const Json& engine, Json program = program_environment());

}  // namespace approx
