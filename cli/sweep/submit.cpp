#include "cli/sweep/submit.h"

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <map>
#include <set>
#include <utility>

#include "base/error.h"
#include "base/files.h"
#include "cli/environment.h"
#include "cli/slurm/cluster.h"
#include "cli/slurm/script.h"
#include "cli/slurm/split.h"
#include "cli/slurm/submission.h"
#include "cli/store.h"
#include "cli/sweep/run_paths.h"
#include "cli/sweep/sweep_lock.h"
#include "cli/sweep/work_left.h"
#include "cli/text.h"
#include "results/store/merge.h"
#include "results/store/run_lock.h"

namespace approx {
namespace {

namespace fs = std::filesystem;

constexpr const char* kMergeScript = "merge.sh";

void tell(const std::string& line) { std::fputs((line + "\n").c_str(), stderr); }

// Runs that can be in one array.
struct ArrayKind {
  Purpose purpose = Purpose::kAccuracy;
  int64_t ranks = 1;

  auto operator<=>(const ArrayKind&) const = default;

  // "accuracy.sh", "timing-4-ranks.sh".
  std::string script() const {
    return fmt::format("{}{}.sh", name(purpose), ranks > 1 ? fmt::format("-{}-ranks", ranks) : "");
  }
  // What stands in a job's name behind the experiment's id.
  std::string job() const {
    return (purpose == Purpose::kTiming ? ":timing" : "") +
           (ranks > 1 ? fmt::format(":{}-ranks", ranks) : "");
  }
};

// An array and the runs of each of its tasks.
struct PlannedArray {
  ArrayKind kind;
  JobArray job;
  std::vector<TaskRuns> tasks;
};

// What is to be submitted, and what is with others.
struct Missing {
  std::vector<const PlannedRun*> runs;  // each key once
  int64_t queued = 0, at_work = 0;      // left out
};

std::set<std::string> queued_keys(const std::vector<Submission>& submissions,
                                  const QueuedTasks& queue) {
  std::set<std::string> keys;
  for (const auto& submission : submissions) {
    for (int64_t task = 0; task < submission.tasks; ++task) {
      if (!submission.is_queued(task, queue)) continue;
      for (auto& key : keys_of_task(submission.folder, task)) keys.insert(std::move(key));
    }
  }
  return keys;
}

// The submissions of which some task may still do something, or did since all was merged.
std::vector<Submission> open_submissions(const std::string& db) {
  auto submissions = read_submissions(db);
  std::erase_if(submissions, [](const Submission& submission) { return submission.settled; });
  return submissions;
}

Missing missing_runs(const Experiment& experiment, const std::string& db, const Rerun& rerun,
                     const std::set<std::string>& queued) {
  std::optional<RunStore> store;
  if (fs::exists(db)) store.emplace(db, RunStore::Mode::kRead);
  Missing missing;
  const auto commit = program_commit();
  for (const auto* run : distinct_runs(experiment)) {
    const CellStatus status = store ? store->status(run->key) : CellStatus();
    if (queued.contains(run->key)) {
      ++missing.queued;
    } else if (status.state == RunState::kRunning) {
      ++missing.at_work;
    } else if (needs_run(status, rerun, commit)) {
      missing.runs.push_back(run);
    }
  }
  return missing;
}

// Where tasks run is another machine: what goes by the machine has to be said.
void check_threads(const std::vector<const PlannedRun*>& runs) {
  for (const auto* run : runs) {
    if (!run->threads_of_machine) continue;
    throw usage_error(
        "--slurm: the number of threads is not given, and another machine computes the runs; give "
        "--threads N, or threads = N in the file");
  }
}

// Sets the processes and processors of a task whose runs are these.
void take_processors(JobArray& job, const TaskRuns& runs, const SlurmRequest& request,
                     int64_t jobs) {
  int64_t threads = 1, ranks = 1;
  for (const auto* run : runs) {
    threads = std::max(threads, run->config.threads);
    ranks = run->config.ranks;
  }
  const int64_t at_once = job.purpose == Purpose::kTiming ? 1 : jobs;
  const int64_t needed = threads * ranks * at_once;
  if (request.cpus > 0 && request.cpus < needed) {
    throw usage_error(
        "--slurm-cpus {}: too few, since a task has {} threads at the same time; give more",
        request.cpus, needed);
  }
  job.processes = ranks == 1 ? 1 : ranks * at_once;
  // Rounded up, so that there are as many as were asked for.
  job.cpus = (std::max(request.cpus, needed) + job.processes - 1) / job.processes;
}

// Sets its GPUs: runs at work at the same time share one, or the ranks' one each. On how many nodes
// the ranks of srun are is Slurm's to say.
void take_gpus(JobArray& job, const ArrayKind& kind, bool on_gpu, const SlurmRequest& request) {
  job.gpu_each = on_gpu && !request.gpus && kind.ranks > 1 && !job.one_node;
  job.gpus = request.gpus.value_or(on_gpu && !job.gpu_each ? kind.ranks : 0);
}

std::vector<PlannedArray> plan_arrays(const Experiment& experiment, const Missing& missing,
                                      const SlurmRequest& request, int64_t jobs,
                                      Launcher launcher) {
  std::map<ArrayKind, TaskRuns> kinds;
  for (const auto* run : missing.runs) {
    kinds[{run->config.purpose, run->config.ranks}].push_back(run);
  }
  std::vector<PlannedArray> arrays;
  int64_t next = 0;
  for (const auto& [kind, runs] : kinds) {
    PlannedArray array{.kind = kind, .job = {}, .tasks = split_runs(runs, request.tasks)};
    const bool on_gpu = std::ranges::any_of(
        runs, [](const PlannedRun* run) { return run->config.device == DeviceKind::kCuda; });
    const auto count = static_cast<int64_t>(array.tasks.size());
    array.job = {.name = experiment.id + kind.job(),
                 .purpose = kind.purpose,
                 .first = next,
                 .last = next + count - 1,
                 .runs = static_cast<int64_t>(runs.size()),
                 .one_node = kind.ranks > 1 && launcher == Launcher::kMpirun};
    take_processors(array.job, runs, request, jobs);
    take_gpus(array.job, kind, on_gpu, request);
    next += count;
    arrays.push_back(std::move(array));
  }
  return arrays;
}

bool has_ranks(const std::vector<const PlannedRun*>& runs) {
  return std::ranges::any_of(runs, [](const PlannedRun* run) { return run->config.ranks > 1; });
}

// That of the machines that compute: what this one has counts for nothing but what Slurm's srun
// says.
Launcher launcher_of_tasks(const RankOptions& ranks) {
  if (ranks.launcher) return *ranks.launcher;
  return srun_knows_pmix() ? Launcher::kSrun : Launcher::kMpirun;
}

// What tasks came to that have ended. The databases of others are left alone: one of them may be
// written to on another machine, whose locks are not seen here.
void merge_submissions(const std::string& db, std::vector<Submission>& submissions,
                       const QueuedTasks& queue) {
  std::vector<std::string> databases;
  for (const auto& submission : submissions) {
    const auto of_tasks = ended_databases(submission, queue);
    databases.insert(databases.end(), of_tasks.begin(), of_tasks.end());
  }
  if (!databases.empty()) {
    const auto counts = merge_stores(db, databases);
    if (counts.added > 0) tell(fmt::format("{}: {} results added", db, counts.added));
  }
  for (auto& submission : submissions) {
    submission.settled = !submission.is_queued(queue);
    if (submission.settled) save(submission);
  }
}

std::string program_path() { return fs::read_symlink("/proc/self/exe").string(); }

std::vector<std::string> task_command(const std::string& folder, const GlobalOptions& options,
                                      const SlurmRequest& request, const TaskOptions& tasks) {
  std::vector<std::string> words = {program_path(), "sweep", "task",
                                    "--data-dir=" + fs::absolute(options.data_dir).string(),
                                    "--progress=log"};
  if (!options.verify_data) words.emplace_back("--no-verify");
  if (options.verbose) words.emplace_back("--verbose");
  const bool has_grace = std::ranges::any_of(
      tasks.flags, [](const std::string& flag) { return flag.starts_with("--grace="); });
  // A worker that is asked to stop has most of the time until the cluster ends all.
  if (!has_grace) {
    words.push_back(fmt::format("--grace={}s", warning_ahead(request.time).count() * 3 / 4));
  }
  words.insert(words.end(), tasks.flags.begin(), tasks.flags.end());
  words.push_back(folder);
  return words;
}

// The scripts of a submission by their names, in the order in which they are submitted.
using Scripts = std::vector<std::pair<std::string, std::string>>;

Scripts write_scripts(const Experiment& experiment, const std::string& folder,
                      const std::string& db, const std::vector<PlannedArray>& arrays,
                      const SlurmRequest& request, const std::vector<std::string>& command) {
  Scripts scripts;
  for (const auto& array : arrays) {
    scripts.emplace_back(array.kind.script(), array_script(array.job, request, command));
  }
  scripts.emplace_back(kMergeScript,
                       merge_script(experiment.id + ":merge", request, program_path(), folder, db));
  return scripts;
}

// The checkpoints of runs that an earlier task, or a sweep on this machine, did not come to the end
// of, by the names of their folders.
using LeftCheckpoints = std::map<std::string, fs::path>;

// The checkpoint of each run: where there are several, the one written last.
LeftCheckpoints checkpoints_left(const std::string& db) {
  std::map<std::string, std::pair<fs::file_time_type, fs::path>> newest;
  std::error_code error;
  auto folders = task_run_folders(db);
  folders.push_back(runs_directory(db));
  for (const auto& runs : folders) {
    for (const auto& entry : fs::directory_iterator(runs, error)) {
      if (entry.path().extension() != kCheckpointEnd) continue;
      const std::pair found{entry.last_write_time(error), entry.path()};
      if (error) continue;
      auto& best = newest.try_emplace(entry.path().filename().string(), found).first->second;
      best = std::max(best, found);
    }
  }
  LeftCheckpoints left;
  for (const auto& [name, found] : newest) left[name] = found.second;
  return left;
}

// Checkpoints that are with the tasks of an array: its runs go on from there. They go back where
// they were unless the array is submitted.
class HandedOver {
 public:
  HandedOver(const LeftCheckpoints& left, const std::string& folder, const PlannedArray& array) {
    for (size_t i = 0; i < array.tasks.size(); ++i) {
      const auto task = array.job.first + static_cast<int64_t>(i);
      for (const auto* run : array.tasks[i]) {
        const fs::path to = checkpoint_directory(task_database(folder, task), run->key);
        const auto from = left.find(to.filename().string());
        if (from != left.end()) hand_over(from->second, to);
      }
    }
  }
  ~HandedOver() {
    std::error_code ignored;
    for (const auto& [from, to] : moved_) fs::rename(to, from, ignored);
  }
  HandedOver(const HandedOver&) = delete;

  void keep() { moved_.clear(); }

 private:
  void hand_over(const fs::path& from, const fs::path& to) {
    std::error_code error;
    fs::create_directories(to.parent_path(), error);
    fs::rename(from, to, error);
    if (!error) moved_.emplace_back(from, to);  // else the run begins anew
  }

  std::vector<std::pair<fs::path, fs::path>> moved_;
};

void submit_scripts(Submission& submission, const Scripts& scripts,
                    const std::vector<PlannedArray>& arrays, const LeftCheckpoints& left) {
  std::string jobs;
  for (size_t i = 0; i < arrays.size(); ++i) {
    const auto& array = arrays[i].job;
    // Said before it is done: if this process does not come to hear of the job, its tasks are known
    // by the folder.
    submission.jobs.push_back({"", array.first, array.last});
    save(submission);
    HandedOver checkpoints(left, submission.folder, arrays[i]);
    const std::string id = submit_job(submission.folder, scripts[i].first);
    checkpoints.keep();
    submission.jobs.back().id = id;
    save(submission);
    jobs += (jobs.empty() ? "" : ":") + id;
    const auto tasks = array.last - array.first + 1;
    tell(fmt::format("{}: {} {} in {} {}: Slurm job {}", array.name, array.runs,
                     array.runs == 1 ? "run" : "runs", tasks, tasks == 1 ? "task" : "tasks", id));
  }
  const std::string merge = submit_job(submission.folder, kMergeScript, jobs);
  tell(
      fmt::format("{}: merged by Slurm job {} when they have ended", submission.experiment, merge));
}

// Not while another sweep of it is at work are its runs given up that nobody asks for any more.
void add_to_store(const Experiment& experiment, const GlobalOptions& options) {
  RunStore store = open_store(options);
  const SweepLock at_work(options.db, experiment.id);
  store.add_experiment(experiment, options.command_line, Retire::kUnasked,
                       [&] { return at_work.others(); });
}

std::string checked_folder(const std::string& db, const std::string& experiment) {
  std::string folder = next_folder(db, experiment);
  const bool odd = std::ranges::any_of(
      folder, [](char c) { return static_cast<unsigned char>(c) < ' ' || c == '%' || c == '\\'; });
  if (odd) {
    throw usage_error(
        "{}: Slurm cannot use a path with %, a backslash or a control character; give --db another "
        "folder",
        printable(folder));
  }
  return folder;
}

}  // namespace

Submitted look_at_submissions(const std::string& db, bool dry_run) {
  Submitted before;
  if (!dry_run) {
    before.lock = RunLock::acquire(submissions_folder(db), "lock");
    if (!before.lock) {
      throw usage_error(
          "{}: another sweep --slurm is submitting runs for it; wait until it has ended",
          printable(db));
    }
  }
  auto submissions = open_submissions(db);
  if (submissions.empty()) return before;
  // Asked first: what a task does after that is not looked for in the database, nor done again.
  const auto queue = queued_tasks();
  before.queued = queued_keys(submissions, queue);
  if (!dry_run) merge_submissions(db, submissions, queue);
  return before;
}

void submit_sweep(const Experiment& experiment, const GlobalOptions& options,
                  const SlurmRequest& request, const Submitted& before, const TaskOptions& tasks) {
  const std::string db = fs::absolute(options.db).lexically_normal().string();
  // What a sweep here that died left as running is to be done like the rest.
  if (!tasks.dry_run && fs::exists(db)) RunStore(db, RunStore::Mode::kWrite).recover();
  const Missing missing = missing_runs(experiment, db, tasks.rerun, before.queued);
  if (missing.queued > 0) {
    tell(
        fmt::format("{}: {} runs are with tasks that wait or work", experiment.id, missing.queued));
  }
  if (missing.at_work > 0) {
    tell(fmt::format("{}: {} runs are at work here", experiment.id, missing.at_work));
  }
  if (missing.runs.empty()) return tell(fmt::format("{}: nothing to submit", experiment.id));
  check_threads(missing.runs);
  TaskOptions of_tasks = tasks;
  Launcher launcher = Launcher::kMpirun;
  if (has_ranks(missing.runs)) {
    launcher = launcher_of_tasks(tasks.ranks);
    if (!tasks.ranks.launcher) {
      of_tasks.flags.push_back(fmt::format("--launcher={}", name(launcher)));
    }
  }
  const auto arrays = plan_arrays(experiment, missing, request, tasks.jobs, launcher);
  const std::string folder = checked_folder(db, experiment.id);
  Submission submission{.folder = folder,
                        .folder_was = folder,
                        .experiment = experiment.id,
                        .jobs = {},
                        .tasks = arrays.back().job.last + 1};
  const auto scripts = write_scripts(experiment, submission.folder, db, arrays, request,
                                     task_command(submission.folder, options, request, of_tasks));
  if (tasks.dry_run) {
    for (const auto& [name, script] : scripts) std::fputs(script.c_str(), stdout);
    return;
  }

  add_to_store(experiment, options);
  make_folder(submission.folder);
  for (const auto& array : arrays) {
    for (size_t i = 0; i < array.tasks.size(); ++i) {
      write_task_file(submission.folder, array.job.first + static_cast<int64_t>(i), experiment,
                      array.tasks[i], options.command_line);
    }
  }
  for (const auto& [name, script] : scripts) write_file(submission.folder + "/" + name, script);
  submit_scripts(submission, scripts, arrays, checkpoints_left(db));
  tell(fmt::format("{}: where that fails: {}", experiment.id,
                   merge_command(program_path(), submission.folder, db)));
}

}  // namespace approx
