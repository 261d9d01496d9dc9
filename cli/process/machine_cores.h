// The cores of this machine, as the system tells of them.
#pragma once

#include <string>
#include <vector>

#include "cli/process/core_pool.h"

namespace approx {

// The cores whose CPUs are among `allowed`, as /sys tells of them, in the order of their first CPU;
// what it does not tell is taken for a core of its own. `root`: tests have a machine of files.
std::vector<Core> read_cores(const std::vector<int>& allowed, const std::string& root = "/");

// The CPUs that this process may use, by its own mask and its cgroup's; none where the system does
// not say.
std::vector<int> allowed_cpus();

// Restricts this process to them. Whether the system did.
bool use_cpus(const std::vector<int>& cpus);

// The cores of this machine, which other sweeps on it do not get.
CorePool cores_of_machine(int64_t jobs);

}  // namespace approx
