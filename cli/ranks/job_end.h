// What became of a run of several ranks, by what was seen of its job.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "base/params.h"
#include "cli/process/process_end.h"
#include "cli/ranks/rank_failure.h"

namespace approx {

// A job that is over.
struct JobSeen {
  Launcher launcher = Launcher::kMpirun;
  ProcessEnd process = {};                            // of the launcher
  std::optional<RankFailure> failure = std::nullopt;  // that it told of
  Json last = nullptr;    // rank 0's "final" or "error" event, null if it sent none
  std::string said = {};  // the last line that the launcher printed, printable
};

// What a rank left: its "error" event, null where it made none; the last line of its log.
struct RankLeft {
  Json problem = nullptr;
  std::string last_line = {};
};

// The one event, "final" or "error", that the run ends with: rank 0's own where it has a result or
// says what went wrong, unless another rank was killed, or ended first while rank 0 waited for it:
// then it only saw that. An error names the rank, and carries `rank` and `signal` where they are
// known.
Json end_of_job(const JobSeen& job, const std::function<RankLeft(int64_t rank)>& left);

}  // namespace approx
