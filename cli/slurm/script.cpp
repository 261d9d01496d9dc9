#include "cli/slurm/script.h"

#include <fmt/format.h>

#include <algorithm>

#include "cli/text.h"

namespace approx {
namespace {

constexpr const char* kFirstLines =
    "#!/bin/bash\n"
    "# Written by approxtrain sweep --slurm; docs/slurm.md says what is what.\n";

void directive(std::string& script, const std::string& option) {
  script += "#SBATCH " + option + "\n";
}

// "1-02:30:00", as sbatch reads it.
std::string time_limit_text(Nanoseconds limit) {
  const auto whole = std::chrono::ceil<std::chrono::seconds>(limit).count();
  return fmt::format("{}-{:02}:{:02}:{:02}", whole / 86400, whole / 3600 % 24, whole / 60 % 60,
                     whole % 60);
}

// How the coordinator is started, as a step that hears Slurm's signals. Where it starts ranks they
// are a step beside it, or processes of its own.
std::string coordinator_step(const JobArray& array) {
  if (array.processes == 1) {
    return fmt::format("srun --ntasks=1 --cpus-per-task={}", array.cpus);
  }
  const int64_t cpus = array.cpus * (array.one_node ? array.processes : 1);
  return fmt::format("srun --overlap --nodes=1 --ntasks=1 --cpus-per-task={}", cpus);
}

// What the user asks for in all jobs, behind ours, so that it prevails.
void directives_of_user(std::string& script, const SlurmRequest& request) {
  if (!request.partition.empty()) directive(script, "--partition=" + request.partition);
  for (const auto& option : request.options) directive(script, option);
}

}  // namespace

std::chrono::seconds warning_ahead(Nanoseconds time_limit) {
  constexpr std::chrono::seconds kUsual{120}, kLeast{15};
  if (time_limit.count() == 0) return kUsual;
  return std::clamp(std::chrono::floor<std::chrono::seconds>(time_limit / 4), kLeast, kUsual);
}

std::string array_script(const JobArray& array, const SlurmRequest& request,
                         const std::vector<std::string>& command) {
  std::string script = kFirstLines;
  const bool timing = array.purpose == Purpose::kTiming;
  script += fmt::format("# {} runs of {}, in tasks {} to {}.\n", array.runs,
                        timing ? "timing, each task on a node of its own" : "accuracy", array.first,
                        array.last);
  directive(script, "--job-name=" + array.name);
  directive(script, fmt::format("--array={}-{}{}", array.first, array.last,
                                request.at_once > 0 ? fmt::format("%{}", request.at_once) : ""));
  directive(script, "--output=task-%a.log");
  directive(script, "--open-mode=append");
  directive(script, "--requeue");
  directive(script, fmt::format("--signal=USR1@{}", warning_ahead(request.time).count()));
  directive(script, fmt::format("--ntasks={}", array.processes));
  directive(script, fmt::format("--cpus-per-task={}", array.cpus));
  if (array.one_node) directive(script, "--nodes=1");
  if (request.memory_bytes > 0) {
    directive(script, fmt::format("--mem={}K", (request.memory_bytes + 1023) / 1024));
  }
  if (request.time.count() > 0) directive(script, "--time=" + time_limit_text(request.time));
  if (array.gpus > 0) directive(script, fmt::format("--gres=gpu:{}", array.gpus));
  if (array.gpu_each) directive(script, "--gpus-per-task=1");
  if (timing) {
    directive(script, "--exclusive");
    directive(script, "--hint=nomultithread");
  }
  directives_of_user(script, request);

  script += "\ncode=0\n" + coordinator_step(array);
  for (const auto& word : command) script += " " + shell_word(word);
  script += " \"$SLURM_ARRAY_TASK_ID\" || code=$?\n";
  // The task's own name: the job id of the last one is also that of the whole array.
  script += R"(
# 138: the time limit is near; 137: something killed it. It goes on in another turn, unless the job
# was cancelled meanwhile.
task=${SLURM_ARRAY_JOB_ID}_$SLURM_ARRAY_TASK_ID
if ((code == 138 || (code == 137 && ${SLURM_RESTART_COUNT:-0} < 10))) &&
  [[ $(scontrol show job "$task") == *JobState=RUNNING* ]]; then
  scontrol requeue "$task" && sleep 60
fi
exit "$code"
)";
  return script;
}

std::string merge_command(const std::string& program, const std::string& folder,
                          const std::string& db) {
  return fmt::format("{} db merge {} --db {}", shell_word(program), shell_word(folder),
                     shell_word(db));
}

std::string merge_script(const std::string& job_name, const SlurmRequest& request,
                         const std::string& program, const std::string& folder,
                         const std::string& db) {
  std::string script = kFirstLines;
  script += "# Takes what the tasks came to into the database of the sweep.\n";
  directive(script, "--job-name=" + job_name);
  directive(script, "--output=merge.log");
  directive(script, "--open-mode=append");
  directive(script, "--ntasks=1");
  directives_of_user(script, request);
  // Not by a pattern of the shell, to which the folder's name may be one as well.
  script += fmt::format("\n[[ $(find {} -maxdepth 1 -name 'task-*.db') ]] || exit 0\nexec {}\n",
                        shell_word(folder), merge_command(program, folder, db));
  return script;
}

}  // namespace approx
