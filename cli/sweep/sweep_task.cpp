// sweep task: what the batch script of `sweep --slurm` calls, in each turn of each task.
#include <csignal>
#include <filesystem>
#include <map>
#include <memory>
#include <string>

#include "base/error.h"
#include "base/numbers.h"
#include "cli/command.h"
#include "cli/slurm/submission.h"
#include "cli/sweep/axes.h"
#include "cli/sweep/coordinator.h"
#include "cli/sweep/run_paths.h"
#include "cli/sweep/sweep_commands.h"
#include "cli/sweep/sweep_flags.h"
#include "cli/sweep/sweep_outcome.h"
#include "cli/text.h"

namespace approx {
namespace {

namespace fs = std::filesystem;

// When each checkpoint of a task was written.
std::map<std::string, fs::file_time_type> checkpoint_times(const std::string& db) {
  std::map<std::string, fs::file_time_type> times;
  std::error_code error;
  for (const auto& entry : fs::recursive_directory_iterator(runs_directory(db), error)) {
    const auto& path = entry.path();
    if (path.parent_path().extension() == kCheckpointEnd) {
      times[path.string()] = entry.last_write_time(error);
    }
  }
  return times;
}

void run_task(const std::string& folder, int64_t number, const GlobalOptions& options,
              const SweepOptions& sweep) {
  const auto task = read_task_file(folder, number, dataset_checksums(options.data_dir));
  GlobalOptions own = options;
  own.db = task_database(folder, number);
  own.default_db = false;
  own.command_line = task.command_line;
  if (sweep.require_clean) require_clean(task.experiment.files);
  const auto before = checkpoint_times(own.db);
  SweepOptions alone = sweep;
  alone.network_db = true;  // no other process writes to the database of a task
  const SweepResult result = run_experiment(task.experiment, own, alone);
  const int code = finish_sweep(task.experiment, result);
  const int64_t ended = result.finished + result.diverged + result.failed + result.cut_off;
  if (result.signal == SIGUSR1 && ended == 0 && checkpoint_times(own.db) == before) {
    // Another turn would come to the same.
    throw Error(ErrorKind::kInternal,
                fmt::format("task {} made no progress within its time limit: no run ended or wrote "
                            "a checkpoint; submit again with a longer --slurm-time",
                            number));
  }
  if (code != 0) throw Exit{code};
}

}  // namespace

void add_sweep_task(CLI::App& sweep, GlobalOptions& options) {
  struct Flags {
    std::string folder, number;
    SweepOptions sweep;
  };
  auto* task = sweep.add_subcommand(
      "task",
      "Run one task of `sweep --slurm` in a database of its own; its batch script calls this");
  task->footer("approxtrain sweep task results.slurm/example-1 0");
  auto flags = std::make_shared<Flags>();
  task->add_option("FOLDER", flags->folder, "folder of the submission")->required();
  task->add_option("N", flags->number, "number of the task")->type_name("N")->required();
  add_sweep_flags(*task, flags->sweep);
  add_jobs_flags(*task, flags->sweep);
  task->callback([flags, &options] {
    const auto number = parse_integer(flags->number, 0);
    if (!number) {
      throw usage_error("N: \"{}\" is not the number of a task", printable(flags->number));
    }
    run_task(flags->folder, *number, options, flags->sweep);
  });
}

}  // namespace approx
