#include "cli/slurm/cluster.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cerrno>
#include <cstdint>
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

constexpr int64_t kMostScriptBytes = 16 << 20;

// Variables of sbatch that say on whose account or where a job is: sites have users set them.
constexpr std::array<std::string_view, 5> kKept = {
    "SBATCH_ACCOUNT", "SBATCH_CONSTRAINT", "SBATCH_PARTITION", "SBATCH_QOS", "SBATCH_RESERVATION"};

// "--account", of which SBATCH_ACCOUNT is the default.
std::string option_of(std::string_view variable) {
  std::string option = "--";
  for (const char c : variable.substr(std::string_view("SBATCH_").size())) {
    option += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  }
  return option;
}

bool says(const std::string& script, const std::string& option) {
  return script.find("\n#SBATCH " + option + "=") != std::string::npos ||
         script.find("\n#SBATCH " + option + "\n") != std::string::npos;
}

// Whether a command may see a variable of ours. Those that give options to squeue would hide tasks,
// and those of sbatch go before what a script says.
bool is_passed_on(std::string_view variable, const std::string& script) {
  if (variable.starts_with("SQUEUE_")) return false;
  if (!variable.starts_with("SBATCH_")) return true;
  return std::ranges::find(kKept, variable) != kKept.end() && !says(script, option_of(variable));
}

std::vector<char*> environment_for(const std::string& script) {
  std::vector<char*> variables;
  for (char** variable = environ; *variable != nullptr; ++variable) {
    const std::string_view text = *variable;
    if (is_passed_on(text.substr(0, text.find('=')), script)) variables.push_back(*variable);
  }
  variables.push_back(nullptr);
  return variables;
}

// What a command says on stdout; `script`: what it is to submit. Throws Error(kUsage) with what it
// says on stderr where it fails; else that is passed on.
std::string said_by(const std::vector<std::string>& words, const std::string& script = "") {
  const Descriptor out = memory_file(), err = memory_file();
  std::vector<char*> arguments;
  for (const auto& word : words) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  const std::vector<char*> variables = environment_for(script);
  posix_spawn_file_actions_t files;
  posix_spawn_file_actions_init(&files);
  posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&files, out.get(), STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&files, err.get(), STDERR_FILENO);
  pid_t child = 0;
  const int failure =
      posix_spawnp(&child, arguments[0], &files, nullptr, arguments.data(), variables.data());
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
  const auto text = read_file(words.back(), kMostScriptBytes);
  // "12", or "12;cluster".
  const std::string said = said_by(words, {text.begin(), text.end()});
  std::string id(trim(said.substr(0, said.find_first_of(";\n"))));
  if (id.empty() || id.find_first_not_of("0123456789") != std::string::npos) {
    throw usage_error("sbatch said \"{}\" in place of a job id", printable(said.substr(0, 200)));
  }
  return id;
}

QueuedTasks queued_tasks() {
  QueuedTasks tasks;
  // --all: those of partitions too that this user does not see.
  std::istringstream lines(
      said_by({"squeue", "--noheader", "--array", "--all", "--format=%F %K %Z"}));
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::string job, task, folder;
    if (!(words >> job >> task)) continue;
    std::getline(words >> std::ws, folder);
    tasks.by_job.emplace(job, task);
    tasks.by_folder.emplace(folder, task);
  }
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
