#include "cli/plot.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "base/error.h"
#include "base/files.h"
#include "cli/text.h"
#include "results/render/table.h"

namespace approx {
namespace {

namespace fs = std::filesystem;

fs::path find_script(const std::string& name) {
  std::error_code error;
  for (const auto& folder : program_folders("plots")) {
    const auto path = folder / (name + ".gp");
    if (fs::is_regular_file(path, error)) return fs::absolute(path);
  }
  throw usage_error("the figure {}.gp is not beside the program", name);
}

// A folder that is removed with what is in it.
class TemporaryFolder {
 public:
  TemporaryFolder() {
    std::string name = (fs::temp_directory_path() / "approxtrain-XXXXXX").string();
    if (mkdtemp(name.data()) == nullptr) {
      throw usage_error("no temporary folder can be made: {}", std::strerror(errno));
    }
    path_ = name;
  }
  ~TemporaryFolder() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }
  TemporaryFolder(const TemporaryFolder&) = delete;

  fs::path operator/(const char* name) const { return path_ / name; }

 private:
  fs::path path_;
};

// Runs gnuplot with stdout and stderr into a file. Returns its exit code, -1 where there is none.
int run_gnuplot(const std::vector<std::string>& arguments, const fs::path& log) {
  std::vector<char*> argv;
  for (const auto& argument : arguments) argv.push_back(const_cast<char*>(argument.c_str()));
  argv.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_addopen(&actions, 1, log.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
  posix_spawn_file_actions_adddup2(&actions, 1, 2);
  pid_t child = 0;
  const int failure = posix_spawnp(&child, "gnuplot", &actions, nullptr, argv.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  if (failure != 0) return -1;
  int status = 0;
  while (waitpid(child, &status, 0) < 0) {
    if (errno != EINTR) return -1;
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128;
}

std::string read_all(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

}  // namespace

bool can_draw() {
  static const bool can = [] {
    const TemporaryFolder folder;
    return run_gnuplot({"gnuplot", "--version"}, folder / "log") == 0;
  }();
  return can;
}

std::string draw(const std::string& script, const std::string& csv, const std::string& format) {
  const auto path = find_script(script);
  if (!can_draw()) {
    throw usage_error(
        "gnuplot is missing; install it (apt-get install gnuplot-nox), or take --format csv");
  }
  const TemporaryFolder folder;
  const auto csv_path = folder / "data.csv";
  const auto out = folder / (format == "png" ? "figure.png" : "figure.svg");
  write_file(csv_path.string(), csv);
  const int code = run_gnuplot(
      {"gnuplot", "-e", fmt::format("csv='{}'; out='{}'", csv_path.string(), out.string()),
       path.string()},
      folder / "log");
  std::string figure = read_all(out);
  if (code != 0 || figure.empty()) {
    std::string said = read_all(folder / "log");
    throw usage_error("gnuplot ended with {} on {}.gp: {}", code, script,
                      printable(said.substr(0, 300)));
  }
  return figure;
}

}  // namespace approx
