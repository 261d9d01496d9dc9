#include "cli/ranks/launch.h"

#include <fmt/format.h>

namespace approx {

std::vector<std::string> launch_words(const LaunchRequest& request) {
  std::vector<std::string> words;
  const std::string ranks = fmt::format("{}", request.ranks);
  if (request.launcher == Launcher::kMpirun) {
    // So many places on this machine, whatever a batch system says or Open MPI counts: they have
    // been counted. Each rank takes its own cores.
    words = {"mpirun", "-n", ranks, "--host", "localhost:" + ranks, "--bind-to", "none"};
  } else {
    // The step that the coordinator is in has the allocation already. Only with its standard input
    // does a rank see that its job is gone.
    words = {"srun",
             "--mpi=pmix",
             "--overlap",
             "--kill-on-bad-exit=1",
             "--input=all",
             "--unbuffered",
             "--ntasks=" + ranks,
             fmt::format("--cpus-per-task={}", request.threads)};
  }
  words.insert(words.end(), request.command.begin(), request.command.end());
  return words;
}

std::vector<LaunchVariable> launch_environment(const LaunchRequest& request) {
  if (request.launcher == Launcher::kSrun) {
    // Variables of the coordinator's own step: srun would take the ranks' step for a part of it.
    std::vector<LaunchVariable> variables;
    for (const char* name :
         {"SLURM_NNODES", "SLURM_NTASKS", "SLURM_NPROCS", "SLURM_TASKS_PER_NODE",
          "SLURM_NTASKS_PER_NODE", "SLURM_NODELIST", "SLURM_CPUS_PER_TASK", "SLURM_DISTRIBUTION"}) {
      variables.push_back({.name = name, .value = std::nullopt, .ours = true});
    }
    return variables;
  }
  std::vector<LaunchVariable> variables = {
      // All that it leaves where it is killed.
      {.name = "OMPI_MCA_orte_tmpdir_base", .value = request.session_folder, .ours = true},
      {.name = "OMPI_MCA_btl_vader_backing_directory",
       .value = request.session_folder,
       .ours = true},
      // On this machine alone: no remote shell, no batch system, no network.
      {.name = "OMPI_MCA_plm", .value = "isolated"},
      {.name = "OMPI_MCA_ras", .value = "^slurm,tm,lsf,gridengine,alps"},
      {.name = "OMPI_MCA_pml", .value = "ob1"},
      {.name = "OMPI_MCA_btl", .value = "self,vader"}};
  if (!request.single_copy) {
    variables.push_back({.name = "OMPI_MCA_btl_vader_single_copy_mechanism", .value = "none"});
  }
  if (request.oversubscribe) {
    variables.push_back({.name = "OMPI_MCA_mpi_yield_when_idle", .value = "1"});
  }
  if (request.as_root) {
    variables.push_back({.name = "OMPI_ALLOW_RUN_AS_ROOT", .value = "1"});
    variables.push_back({.name = "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", .value = "1"});
  }
  return variables;
}

}  // namespace approx
