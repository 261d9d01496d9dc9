// The end of a run of several ranks, from what was seen of its job.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "base/params.h"
#include "cli/process/process_end.h"
#include "cli/ranks/rank_failure.h"

namespace approx {

// Observations of a job that is over.
struct JobSeen {
  Launcher launcher = Launcher::kMpirun;
  ProcessEnd process = {};                            // end of the launcher
  std::optional<RankFailure> failure = std::nullopt;  // reported by the launcher
  Json last = nullptr;    // rank 0's "final" or "error" event; null if it sent none
  std::string said = {};  // the launcher's last output line, printable
};

// Files of a rank: its "error" event, null where it wrote none, and the last line of its log.
struct RankLeft {
  Json problem = nullptr;
  std::string last_line = {};
};

// The one event, "final" or "error", that the run ends with. It is rank 0's own, if that has a
// result or an error. But if another rank was killed, or ended first while rank 0 waited for it,
// then the error is of that rank. An error names the rank, and has `rank` and `signal` where they
// are known.
Json end_of_job(const JobSeen& job, const std::function<RankLeft(int64_t rank)>& left);

}  // namespace approx
