#include "cli/slurm/cluster.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <sstream>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/files.h"
#include "base/text.h"
#include "cli/text.h"

namespace approx {
namespace {

// A file in memory that a command writes to.
Descriptor memory_file() {
  Descriptor made(memfd_create("output", MFD_CLOEXEC));
  if (!made) throw Error(ErrorKind::kInternal, fmt::format("memfd: {}", std::strerror(errno)));
  return made;
}

std::string content(const Descriptor& file) {
  std::string text;
  std::array<char, 65536> buffer;
  while (true) {
    const auto at = static_cast<off_t>(text.size());
    const ssize_t count = pread(file.get(), buffer.data(), buffer.size(), at);
    if (count <= 0) return text;
    text.append(buffer.data(), static_cast<size_t>(count));
  }
}

// "sbatch: error: no such partition | sbatch: error: ...", as one line.
std::string complaint(std::string_view said) {
  std::vector<std::string> lines;
  for (const auto line : split(said.substr(0, 1000), "\n")) {
    if (!line.empty()) lines.push_back(printable(line));
  }
  return lines.empty() ? "it does not say why" : fmt::format("{}", fmt::join(lines, " | "));
}

// What a command says on stdout. Throws Error(kUsage) with what it says on stderr where it fails;
// else that is passed on.
std::string said_by(const std::vector<std::string>& words) {
  const Descriptor out = memory_file(), err = memory_file();
  std::vector<char*> arguments;
  for (const auto& word : words) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  posix_spawn_file_actions_t files;
  posix_spawn_file_actions_init(&files);
  posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&files, out.get(), STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&files, err.get(), STDERR_FILENO);
  pid_t child = 0;
  const int failure =
      posix_spawnp(&child, arguments[0], &files, nullptr, arguments.data(), environ);
  posix_spawn_file_actions_destroy(&files);
  if (failure != 0) {
    throw usage_error("{}: {}; --slurm needs Slurm's commands on this machine", words[0],
                      std::strerror(failure));
  }
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) {
    throw usage_error("{} failed: {}", words[0], complaint(content(err)));
  }
  std::fputs(content(err).c_str(), stderr);
  return content(out);
}

}  // namespace

std::string submit_job(const std::string& folder, const std::string& script,
                       const std::string& after) {
  std::vector<std::string> words = {"sbatch", "--parsable", "--chdir=" + folder};
  if (!after.empty()) words.push_back("--dependency=afterany:" + after);
  words.push_back(folder + "/" + script);
  // "12", or "12;cluster".
  const std::string said = said_by(words);
  std::string id(trim(said.substr(0, said.find_first_of(";\n"))));
  if (id.empty() || id.find_first_not_of("0123456789") != std::string::npos) {
    throw usage_error("sbatch said \"{}\" in place of a job id", printable(said.substr(0, 200)));
  }
  return id;
}

QueuedTasks queued_tasks() {
  QueuedTasks tasks;
  std::istringstream lines(said_by({"squeue", "--noheader", "--array", "--format=%F %K"}));
  for (std::string job, task; lines >> job >> task;) tasks.emplace(job, task);
  return tasks;
}

bool srun_knows_pmix() {
  try {
    std::istringstream words(said_by({"srun", "--mpi=list"}));
    for (std::string word; words >> word;) {
      if (word == "pmix") return true;
    }
  } catch (const Error&) {  // it is not there, or answers nobody
  }
  return false;
}

}  // namespace approx
