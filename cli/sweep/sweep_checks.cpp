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

// What every recorded run would be refused for by itself, as far as the configuration says it.
void check_recorded(const PlannedRun& run, const SweepOptions& sweep) {
  const RunConfig& config = run.config;
  if (config.purpose != Purpose::kAccuracy || !run.excluded.empty()) return;
  if (config.ranks > 1) {
    throw usage_error(
        "--record: of a run of several ranks no process has all operands; give ranks = 1");
  }
  if (is_half(config.precision)) {
    throw usage_error("--record: operands are recorded of runs in fp32, {} is in {}", describe(run),
                      name(config.precision));
  }
  if (sweep.record_steps == 0 && sweep.record_epochs > config.recipe.epochs) {
    throw usage_error("--record-every: {} ends after {} of {} epochs; record more often",
                      describe(run), config.recipe.epochs, sweep.record_epochs);
  }
}

}  // namespace

void check_recording(const SweepOptions& sweep, const Experiment& experiment) {
  if (sweep.record_folder.empty()) return;
  const bool any = std::ranges::any_of(experiment.runs(), [](const PlannedRun& run) {
    return run.config.purpose == Purpose::kAccuracy;
  });
  if (!any) throw usage_error("--record: only accuracy runs are recorded, these are timing runs");
  for (const auto& run : experiment.runs()) check_recorded(run, sweep);
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
