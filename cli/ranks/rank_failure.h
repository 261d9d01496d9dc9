// Which rank of a job failed, by what its launcher says of it.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "cli/process/launcher.h"

namespace approx {

// The first rank that ended badly; one of the three is said of how.
struct RankFailure {
  int64_t rank = 0;
  std::optional<int> signal = std::nullopt, exit_code = std::nullopt;
  bool out_of_memory = false;  // Slurm says that memory was why

  bool operator==(const RankFailure&) const = default;
};

// What one launcher says on stderr, line by line. Its words are those of Open MPI 4.1 and Slurm
// 22.05 (tests/cli/ranks/rank_failure_test.cpp); of others it may understand nothing.
class LauncherLines {
 public:
  explicit LauncherLines(Launcher launcher) : launcher_(launcher) {}

  void add(std::string_view line);

  // The first that it told of: those behind it were ended for that one's sake.
  const std::optional<RankFailure>& failure() const { return failure_; }

 private:
  void add_mpirun(std::string_view line);
  void add_srun(std::string_view line);

  Launcher launcher_;
  std::optional<int64_t> named_;  // by mpirun in a line of its own, the code of which comes next
  std::optional<RankFailure> failure_;
};

}  // namespace approx
