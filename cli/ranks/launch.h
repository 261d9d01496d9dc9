// The words and the environment by which a launcher starts the ranks of a run.
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
  int64_t ranks = 1, threads = 1;   // threads of each
  bool oversubscribe = false;       // ranks share cores, and so are not to wait busily
  std::string session_folder = {};  // mpirun: where it and its ranks may have files
  bool single_copy = true;          // mpirun: whether one process may read another's memory
  bool as_root = false;
  std::vector<std::string> command = {};  // of a rank
};

// The words to be executed, the name of the launcher first.
std::vector<std::string> launch_words(const LaunchRequest& request);

// A variable of the launcher's environment. What a user has set stays, but where it is `ours`.
struct LaunchVariable {
  std::string name;
  std::optional<std::string> value;  // nothing: taken away
  bool ours = false;
};

std::vector<LaunchVariable> launch_environment(const LaunchRequest& request);

}  // namespace approx
