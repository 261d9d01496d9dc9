#include "cli/sweep/worker_task.h"

#include <filesystem>

#include "cli/sweep/run_paths.h"

namespace approx {

WorkerTask worker_task(const PlannedRun& run, const GlobalOptions& options,
                       const SweepOptions& sweep) {
  WorkerTask task{.run_key = run.key,
                  .config = run.config,
                  .place = {.data_dir = options.data_dir,
                            .verify_data = options.verify_data,
                            .rank_timeout_ns = sweep.ranks.timeout.count()},
                  .memory_bytes = sweep.memory_bytes,
                  .launcher = sweep.ranks.launcher.value_or(Launcher::kMpirun),
                  .oversubscribe = sweep.ranks.oversubscribe};
  if (run.config.purpose != Purpose::kAccuracy) return task;
  if (!sweep.record_folder.empty()) {
    task.place.recording = {.folder = std::filesystem::absolute(sweep.record_folder).string(),
                            .run_key = run.key,
                            .every_epochs = sweep.record_epochs,
                            .every_steps = sweep.record_steps};
  }
  if (sweep.checkpoint_time.count() > 0 || sweep.checkpoint_epochs > 0) {
    task.place.checkpoints = {.folder = checkpoint_directory(options.db, run.key),
                              .every_ns = sweep.checkpoint_time.count(),
                              .every_epochs = sweep.checkpoint_epochs};
  }
  return task;
}

}  // namespace approx
