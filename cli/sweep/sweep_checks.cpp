#include "cli/sweep/sweep_checks.h"

#include <algorithm>
#include <optional>

#include "base/error.h"
#include "base/files.h"

namespace approx {
namespace {

void check_cores(const PlannedRun& run, int64_t cores, const RankOptions& ranks) {
  const int64_t needed = run.config.ranks * run.config.threads;
  if (needed <= cores) return;
  const bool timing = run.config.purpose == Purpose::kTiming;
  if (ranks.oversubscribe && !timing) return;
  throw usage_error("{}: ranks = {} with threads = {} need {} cores, of which there are {}: {}",
                    describe(run), run.config.ranks, run.config.threads, needed, cores,
                    timing ? "a timing has a core for each thread"
                           : "give fewer, or --oversubscribe to train all the same");
}

}  // namespace

void check_recording(const SweepOptions& sweep, const Experiment& experiment) {
  if (sweep.record_folder.empty()) return;
  const bool any = std::ranges::any_of(experiment.runs(), [](const PlannedRun& run) {
    return run.config.purpose == Purpose::kAccuracy;
  });
  if (!any) throw usage_error("--record: only accuracy runs are recorded, these are timing runs");
  const bool several = std::ranges::any_of(
      experiment.runs(), [](const PlannedRun& run) { return run.config.ranks > 1; });
  if (several) {
    throw usage_error(
        "--record: of a run of several ranks no process has all operands; give ranks = 1");
  }
  make_folder(sweep.record_folder);
}

RankOptions checked_ranks(const RankOptions& ranks, const std::vector<const PlannedRun*>& to_do) {
  RankOptions checked = ranks;
  std::optional<int64_t> cores;
  for (const auto* run : to_do) {
    if (run->config.ranks == 1) continue;
    if (!cores) {
      if (!checked.launcher) checked.launcher = default_launcher();
      check_launcher(checked);
      cores = cores_for_ranks(checked);
    }
    check_cores(*run, *cores, checked);
  }
  return checked;
}

}  // namespace approx
