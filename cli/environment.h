// The environment of a result: the machine, the program and its load at the time.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/params.h"

namespace approx {

// The commit that this program was built from; "" where it does not know one.
std::string program_commit();

// Reports the machine and the program. A value that cannot be read is "" or null. Cheap; opens no
// library. The keys:
// - hostname, fingerprint (sha256 of the machine's identity), cpu_model, instruction_sets;
// - n_cores, physical_cores (0: unknown), cpu_limit (cores that our cgroup may use);
// - ram_bytes, available_bytes, memory_limit_bytes (of our cgroup);
// - governor, kernel, boot_id, load_average (1, 5, 15 min);
// - version, git_sha, dirty, compiler, flags, build_type.
Json program_environment();

// The experiments and recipes among `files` that came with the program and have changed since it
// was built, by name ("experiments/quickstart.toml").
std::vector<std::string> changed_experiments(const std::vector<std::string>& files);

// For --require-clean: throws Error(kUsage) unless this program was built from committed sources
// and no file is one of changed_experiments().
void require_clean(const std::vector<std::string>& files);

// Marks the environment of a run with changed files: it is as dirty as one with changed sources.
void mark_changed(Json& environment, const std::vector<std::string>& changed);

// `program` with the engine's entries added. The engine's value is taken where both have one.
Json merged_environment(const Json& engine, Json program = program_environment());

}  // namespace approx
