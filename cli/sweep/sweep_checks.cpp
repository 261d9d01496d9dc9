#include "cli/sweep/sweep_checks.h"

#include <algorithm>
#include <filesystem>
#include <optional>

#include "base/disk.h"
#include "base/error.h"
#include "base/file_system.h"
#include "base/files.h"
#include "base/outputs.h"
#include "cli/process/machine_cores.h"
#include "cli/sweep/work_left.h"
#include "cli/text.h"
#include "core/data/demands.h"
#include "results/store/run_folders.h"

namespace approx {
namespace {

void check_cores(const PlannedRun& run, int64_t cores, const RankOptions& ranks) {
  const int64_t needed = run.config.ranks * run.config.threads;
  if (needed <= cores) return;
  const bool timing = run.config.purpose == Purpose::kTiming;
  if (ranks.oversubscribe && !timing) return;
  throw usage_error("{}: ranks = {} with threads = {} need {} cores, and there are {}: {}",
                    describe(run), run.config.ranks, run.config.threads, needed, cores,
                    timing ? "a timing needs a core for each thread; give fewer"
                           : "give fewer, or --oversubscribe to train all the same");
}

// The times of threads that share a processor are none, and would be marked as disturbed.
void check_threads(const PlannedRun& run, int64_t cpus) {
  const auto& config = run.config;
  if (config.purpose != Purpose::kTiming || config.threads <= cpus) return;
  throw usage_error(
      "{}: threads = {}, and there are {} processors: a timing needs one for each thread; give "
      "fewer",
      describe(run), config.threads, cpus);
}

// What every recorded run would be refused for by itself, as far as the configuration says it.
void check_recorded(const PlannedRun& run, const SweepOptions& sweep) {
  const RunConfig& config = run.config;
  if (config.purpose != Purpose::kAccuracy || !run.excluded.empty()) return;
  if (config.ranks > 1) {
    throw usage_error(
        "--record: no process of a run of several ranks has all operands; give ranks = 1");
  }
  if (is_half(config.precision)) {
    throw usage_error("--record: only runs in fp32 are recorded, and {} is in {}", describe(run),
                      name(config.precision));
  }
  const auto [per_epoch, steps] =
      training_steps(config, outline_of(Registry<DatasetEntry>::instance().find(config.dataset)));
  const int64_t first =
      sweep.record_steps > 0 ? sweep.record_steps : sweep.record_epochs * per_epoch;
  if (first > steps) {
    throw usage_error(
        "--record-every: {} ends after {} steps, and the first recorded step would be {}; record "
        "more often",
        describe(run), steps, first);
  }
}

}  // namespace

void check_is_local(const std::string& db) {
  check_named(db);
  std::error_code unreadable;
  const auto path = std::filesystem::absolute(db, unreadable);
  if (unreadable) return;  // opening it says so
  const std::string runs = runs_directory(db);
  // Each may be a link to somewhere else.
  for (const auto& place : {existing_folder(path.parent_path()), path.string(), runs}) {
    const std::string system = network_file_system(place);
    if (system.empty()) continue;
    throw database_error(
        "{}: is on a network file system ({}). Locks may not reach other machines there: choose a "
        "local file with --db, or give --network-db if no other machine uses this one",
        printable(place == runs ? runs : db), system);
  }
}

void check_recording(const SweepOptions& sweep, const Experiment& experiment) {
  if (sweep.record_folder.empty()) return;
  check_output(sweep.record_folder);
  const bool any = std::ranges::any_of(experiment.runs(), [](const PlannedRun& run) {
    return run.config.purpose == Purpose::kAccuracy;
  });
  if (!any) {
    throw usage_error("--record: only accuracy runs are recorded, and these are timing runs");
  }
  for (const auto& run : experiment.runs()) check_recorded(run, sweep);
  try {
    make_folder(sweep.record_folder);
  } catch (const Error& error) {
    throw usage_error("--record: {}", error.what());
  }
}

std::vector<std::string> unreached_settings(const std::vector<const PlannedRun*>& to_do) {
  std::vector<std::string> lines;
  for (const auto* run : to_do) {
    if (run->config.purpose != Purpose::kAccuracy) continue;
    for (auto& line : beyond_the_end(run->config.recipe)) {
      if (std::ranges::find(lines, line) == lines.end()) lines.push_back(std::move(line));
    }
  }
  return lines;
}

RankOptions checked_ranks(const RankOptions& ranks, const std::vector<const PlannedRun*>& to_do) {
  RankOptions checked = ranks;
  std::optional<int64_t> cores;
  const auto cpus = static_cast<int64_t>(allowed_cpus().size());  // 0: the system does not say
  for (const auto* run : to_do) {
    if (run->config.ranks == 1) {
      if (cpus > 0) check_threads(*run, cpus);
      continue;
    }
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
