#include "cli/ranks/rank.h"

#include <fcntl.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <thread>

#include "base/error.h"
#include "base/files.h"
#include "base/numbers.h"
#include "cli/text.h"
#include "results/store/run_lock.h"

namespace approx {
namespace {

void use_as(int from, int to) {
  if (dup2(from, to) >= 0) return;
  throw Error(ErrorKind::kInternal, fmt::format("dup2: {}", std::strerror(errno)));
}

// Likewise of a file, which may have been opened at that very place.
void use_as(Descriptor file, int to) {
  use_as(file.get(), to);
  if (file.get() == to) file.release();
}

Descriptor open_file(const std::string& path) {
  Descriptor file(open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666));
  if (file) return file;
  throw Error(ErrorKind::kInternal, fmt::format("{}: {}", printable(path), std::strerror(errno)));
}

// srun's ranks are no children of it. Their input is the job's, which nobody writes to: it ends
// with the job.
void end_with_input() {
  std::thread([] {
    char ignored[64];
    while (true) {
      const ssize_t count = read(STDIN_FILENO, ignored, sizeof ignored);
      if (count == 0 || (count < 0 && errno != EINTR))
        _exit(static_cast<int>(ErrorKind::kInternal));
    }
  }).detach();
}

}  // namespace

std::string rank_log(const std::string& directory, int64_t rank) {
  return fmt::format("{}/rank-{}.log", directory, rank);
}

std::string rank_error_file(const std::string& directory, int64_t rank) {
  return fmt::format("{}/rank-{}.error", directory, rank);
}

int64_t own_rank() {
  for (const char* name : {"OMPI_COMM_WORLD_RANK", "PMIX_RANK", "SLURM_PROCID"}) {
    const char* text = std::getenv(name);
    if (text == nullptr) continue;
    if (const auto rank = parse_integer(text, 0)) return *rank;
  }
  throw usage_error("--as-rank: neither mpirun nor srun has started this process");
}

void become_rank(const std::string& directory, int64_t rank, Launcher launcher) {
  if (launcher == Launcher::kMpirun) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (!RunLock::held(directory)) _exit(1);  // too late: its job is gone, and the launcher with it
  }
  if (rank == 0) {
    use_as(STDOUT_FILENO, kWorkerEvents);
  } else {
    use_as(open_file(rank_error_file(directory, rank)), kWorkerEvents);
  }
  fcntl(kWorkerEvents, F_SETFD, FD_CLOEXEC);
  const Descriptor log = open_file(rank_log(directory, rank));
  use_as(log.get(), STDOUT_FILENO);
  use_as(log.get(), STDERR_FILENO);
  if (launcher == Launcher::kSrun) end_with_input();
}

std::vector<int> cpus_of_rank(const WorkerTask& task, int64_t rank) {
  const auto place = static_cast<size_t>(rank);
  return place < task.rank_cpus.size() ? task.rank_cpus[place] : std::vector<int>();
}

}  // namespace approx
