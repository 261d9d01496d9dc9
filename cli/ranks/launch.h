// The command line and the environment with which a launcher starts the ranks of a run.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cli/process/launcher.h"

namespace approx {

// How a job of several ranks is started.
struct LaunchRequest {
  Launcher launcher = Launcher::kMpirun;
  int64_t ranks = 1, threads = 1;   // threads of each rank
  bool oversubscribe = false;       // ranks share cores, so waits must not be busy
  std::string session_folder = {};  // mpirun: folder for its files and those of the ranks
  bool single_copy = true;          // mpirun: whether one process may read another's memory
  bool as_root = false;
  std::vector<std::string> command = {};  // command of a rank
};

// The command line to execute, beginning with the name of the launcher.
std::vector<std::string> launch_words(const LaunchRequest& request);

// A variable of the launcher's environment. A value set by the user is kept, unless `ours`.
struct LaunchVariable {
  std::string name;
  std::optional<std::string> value;  // nothing: the variable is removed
  bool ours = false;
};

std::vector<LaunchVariable> launch_environment(const LaunchRequest& request);

}  // namespace approx
