#include "cli/sweep/sweep_flags.h"

#include <string>

#include "base/error.h"
#include "base/numbers.h"
#include "cli/flags.h"
#include "cli/text.h"

namespace approx {
namespace {

// N of "Nep", 0 where `text` is no such number of at least 1. `unit`: what stands behind it.
int64_t number_of(const std::string& text, std::string_view unit) {
  if (!text.ends_with(unit)) return 0;
  const auto number = std::string_view(text).substr(0, text.size() - unit.size());
  return parse_integer(number, 1).value_or(0);
}

// The flags for runs of several ranks.
void add_rank_flags(CLI::App& app, RankOptions& ranks) {
  app.add_option_function<std::string>(
         "--launcher",
         [&ranks](const std::string& text) {
           ranks.launcher = parse<Launcher>(text, "--launcher: unknown value");
         },
         "program that starts the processes of a run of several ranks (default: srun in an "
         "allocation of Slurm, else mpirun)")
      ->type_name("mpirun|srun")
      ->group(kHowToRun);
  app.add_flag("--oversubscribe", ranks.oversubscribe,
               "let accuracy runs have more ranks x threads than there are cores")
      ->group(kHowToRun);
  add_duration(app, "--rank-timeout", ranks.timeout,
               "how long a rank waits for the others in one exchange (default 5m)")
      ->group(kHowToRun);
}

}  // namespace

void add_sweep_flags(CLI::App& app, SweepOptions& sweep) {
  constexpr const char* kGroup = kHowToRun;
  sweep.stall_timeout = std::chrono::minutes(30);
  app.add_option_function<std::string>(
         "--rerun", [&sweep](const std::string& text) { sweep.rerun = parse_rerun(text); },
         "repeat runs that ended in these states: failed, oom, timeout, diverged, finished, "
         "tainted (disturbed timing), older (results of another commit). Interrupted and lost runs "
         "are always repeated")
      ->type_name("STATE,...")
      ->group(kGroup);
  add_integer(app, "--timing-retries", sweep.timing_retries, 0, 10,
              "how often a disturbed timing is repeated, after all other runs (default 1)")
      ->group(kGroup);
  add_duration(
      app, "--timeout", sweep.timeout,
      "end a run that takes longer. It is cut off, which is no failure: what it reached counts")
      ->group(kGroup);
  app.add_option_function<std::string>(
         "--budget",
         [&sweep](const std::string& text) {
           // 8 would be eight seconds, which nobody means.
           sweep.budget = parse_duration(text, "--budget");
           if (sweep.budget.count() == 0) {
             throw usage_error("--budget: nothing fits into \"{}\"; leave it out for no limit",
                               text);
           }
           if (text.find_first_not_of("0123456789.") != std::string::npos) return;
           throw usage_error("--budget: \"{}\" has no unit; write {}h, {}m or {}s", text, text,
                             text, text);
         },
         "time for the whole sweep (8h, 90m). It goes seed by seed and begins no run that would "
         "probably not fit. A run that is cut off goes on in the next sweep")
      ->type_name("TIME")
      ->group(kGroup);
  add_duration(app, "--stall-timeout", sweep.stall_timeout,
               "end a run that shows no sign of life for this long (default 30m, 0: never)")
      ->group(kGroup);
  add_size(app, "--memory", sweep.memory_bytes,
           "end a run that allocates more than this (4G), before the machine runs out of memory")
      ->group(kGroup);
  add_duration(app, "--grace", sweep.grace,
               "time between asking a run to stop and killing it (default 10s)")
      ->group(kGroup);
  app.add_option_function<std::string>(
         "--checkpoint-every",
         [&sweep](const std::string& text) {
           sweep.checkpoint_epochs = 0;
           sweep.checkpoint_time = std::chrono::nanoseconds(0);
           if (!text.ends_with("ep")) {
             sweep.checkpoint_time = parse_duration(text, "--checkpoint-every");
             return;
           }
           sweep.checkpoint_epochs = number_of(text, "ep");
           if (sweep.checkpoint_epochs < 1) {
             throw usage_error("--checkpoint-every: \"{}\" is not a number of epochs such as 2ep",
                               printable(text));
           }
         },
         "how often an accuracy run saves a checkpoint: 10m or 2ep (epochs); default 5m, 0: never")
      ->type_name("TIME|Nep")
      ->group(kGroup);
  add_rank_flags(app, sweep.ranks);
  add_require_clean(app, sweep.require_clean)->group(kHowToRun);
  app.add_flag("--network-db", sweep.network_db,
               "let the database be on a network file system. Locks may not reach other machines "
               "there, so only one machine may use it")
      ->group(kGroup);
  auto* record =
      app.add_option(
             "--record", sweep.record_folder,
             "save the operands of each layer in accuracy runs, for bench-kernel --recorded")
          ->type_name("DIR")
          ->group(kGroup);
  app.add_option_function<std::string>(
         "--record-every",
         [&sweep](const std::string& text) {
           sweep.record_epochs = number_of(text, "ep");
           sweep.record_steps = number_of(text, "ba");
           if (sweep.record_epochs + sweep.record_steps > 0) return;
           throw usage_error(
               "--record-every: \"{}\" is not a number of epochs or batches, such as 2ep or 100ba",
               printable(text));
         },
         "save them in the last step of every 2ep (epochs) or 100ba (batches); default 1ep")
      ->type_name("Nep|Nba")
      ->needs(record)
      ->group(kGroup);
}

void add_jobs_flags(CLI::App& app, SweepOptions& sweep) {
  add_integer(app, "--jobs", sweep.jobs, 1, 1024,
              "runs at the same time (default 1); timing runs are always alone")
      ->group(kHowToRun);
  app.add_flag_callback(
         "--no-pin", [&sweep] { sweep.pin = false; },
         "let the system choose the cores of runs. By default timing runs, and all runs with "
         "--jobs, have cores of their own")
      ->group(kHowToRun);
  auto* fail_fast = app.add_flag_callback(
      "--fail-fast", [&sweep] { sweep.max_failures = 1; }, "start no more runs after a failed one");
  fail_fast->group(kHowToRun);
  add_integer(app, "--max-failures", sweep.max_failures, 1, 1'000'000,
              "start no more runs after N failed ones")
      ->group(kHowToRun)
      ->excludes(fail_fast);
}

}  // namespace approx
