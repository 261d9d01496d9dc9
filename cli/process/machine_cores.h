// The cores of this machine, as the system reports them.
#pragma once

#include <string>
#include <vector>

#include "cli/process/core_pool.h"

namespace approx {

// The cores whose CPUs are among `allowed`, from /sys, in the order of their first CPU. A CPU that
// /sys does not describe counts as a core of its own. `root`: tests use a folder of files.
std::vector<Core> read_cores(const std::vector<int>& allowed, const std::string& root = "/");

// The CPUs that this process may use, by its own mask and its cgroup's; none where the system does
// not report them.
std::vector<int> allowed_cpus();

// Restricts this process to `cpus`. Returns whether the system allowed it.
bool use_cpus(const std::vector<int>& cpus);

// A pool of this machine's cores, which excludes cores claimed by other sweeps on it.
CorePool cores_of_machine(int64_t jobs);

}  // namespace approx
