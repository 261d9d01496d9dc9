// Finds the failed rank of a job in the output of its launcher.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "cli/process/launcher.h"

namespace approx {

// The first rank that ended badly. How it ended is in one of the three other members.
struct RankFailure {
  int64_t rank = 0;
  std::optional<int> signal = std::nullopt, exit_code = std::nullopt;
  bool out_of_memory = false;  // Slurm gives memory as the reason

  bool operator==(const RankFailure&) const = default;
};

// Parses the lines of one launcher on stderr. It knows the messages of Open MPI 4.1 and Slurm 22.05
// (tests/cli/ranks/rank_failure_test.cpp), and may understand nothing of others.
class LauncherLines {
 public:
  explicit LauncherLines(Launcher launcher) : launcher_(launcher) {}

  void add(std::string_view line);

  // The first failure reported. Later ones are ranks that were ended because of it.
  const std::optional<RankFailure>& failure() const { return failure_; }

 private:
  void add_mpirun(std::string_view line);
  void add_srun(std::string_view line);

  Launcher launcher_;
  // A rank that mpirun named in a line of its own; the next line gives its exit code.
  std::optional<int64_t> named_;
  std::optional<RankFailure> failure_;
};

}  // namespace approx
