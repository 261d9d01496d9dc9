#include "cli/plot.h"

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <optional>
#include <vector>

#include "base/awake_clock.h"
#include "base/error.h"
#include "base/files.h"
#include "base/outputs.h"
#include "base/unfinished.h"
#include "base/user_folders.h"
#include "cli/text.h"
#include "results/render/table.h"

namespace approx {
namespace {

namespace fs = std::filesystem;

fs::path find_script(const std::string& name) {
  std::error_code error;
  for (const auto& folder : program_folders("plots")) {
    const auto path = folder / (name + ".gp");
    if (!fs::is_regular_file(path, error)) continue;
    note_input(path.string());
    note_input((folder / "style.gp").string());  // which all of them load
    return fs::absolute(path);
  }
  throw usage_error(
      "plots/{}.gp is missing beside the program; install the program again (cmake --install)",
      name);
}

// The files that gnuplot reads and writes, by names inside its folder.
constexpr std::array kFigureFiles = {"data.csv", "log", "figure.svg", "figure.png"};

// A folder that is removed with what is in it, also where a signal ends the process.
class FigureFolder {
 public:
  FigureFolder() : folder_(make_temporary_folder("approxtrain-")) {
    for (const char* name : kFigureFiles) {
      files_.push_back(std::make_unique<Unfinished>(folder_.path() + "/" + name));
    }
  }
  ~FigureFolder() {
    std::error_code ignored;
    fs::remove_all(folder_.path(), ignored);
  }
  FigureFolder(const FigureFolder&) = delete;

  fs::path operator/(const char* name) const { return fs::path(folder_.path()) / name; }

 private:
  Unfinished folder_;
  std::vector<std::unique_ptr<Unfinished>> files_;
};

// Waits for a child, for so long of this process's own time; then it is killed. Returns its status,
// nothing where it was.
std::optional<int> wait_for(pid_t child, std::chrono::milliseconds limit) {
  const Descriptor ending(static_cast<int>(::syscall(SYS_pidfd_open, child, 0)));
  pollfd poll_of{.fd = ending.get(), .events = POLLIN, .revents = 0};
  constexpr std::chrono::milliseconds kLook{100};
  AwakeClock clock(kLook);
  const auto end = clock.now() + limit;
  int found = ending ? -1 : 1;  // a kernel without them waits as long as it takes
  while (found < 0) {
    found = ::poll(&poll_of, 1, static_cast<int>(std::min(limit, kLook).count()));
    if (found == 0 && clock.now() < end) {
      found = -1;
    } else if (found < 0 && errno != EINTR) {
      found = 0;
    }
  }
  if (found == 0) ::kill(child, SIGKILL);
  int status = 0;
  while (::waitpid(child, &status, 0) < 0) {
    if (errno != EINTR) return 0;
  }
  if (found == 0) return std::nullopt;
  return status;
}

// Runs gnuplot in a folder, with stdout and stderr into its file "log". Returns its exit code, -1
// where there is none, nothing where it took too long.
std::optional<int> run_gnuplot(const std::vector<std::string>& arguments, const fs::path& folder,
                               std::chrono::milliseconds limit) {
  std::vector<char*> argv;
  for (const auto& argument : arguments) argv.push_back(const_cast<char*>(argument.c_str()));
  argv.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addchdir_np(&actions, folder.c_str());
  posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_addopen(&actions, 1, "log", O_WRONLY | O_CREAT | O_TRUNC, 0600);
  posix_spawn_file_actions_adddup2(&actions, 1, 2);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  sigset_t usual;  // it does not look at what a write says
  sigemptyset(&usual);
  sigaddset(&usual, SIGXFSZ);
  posix_spawnattr_setsigdefault(&attributes, &usual);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGDEF);
  pid_t child = 0;
  const int failure = posix_spawnp(&child, "gnuplot", &actions, &attributes, argv.data(), environ);
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&actions);
  if (failure != 0) return -1;
  const auto status = wait_for(child, limit);
  if (!status) return std::nullopt;
  return WIFEXITED(*status) ? WEXITSTATUS(*status) : 128;
}

std::string read_all(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

}  // namespace

bool can_draw() {
  static const bool can = [] {
    const FigureFolder folder;
    return run_gnuplot({"gnuplot", "--version"}, folder / "", kDrawingLimit) == 0;
  }();
  return can;
}

std::string draw(const std::string& script, const std::string& csv, const std::string& format,
                 std::chrono::milliseconds limit) {
  const auto path = find_script(script);
  if (!can_draw()) {
    throw usage_error(
        "gnuplot is missing; install it (apt-get install gnuplot-nox), or take --format csv");
  }
  const FigureFolder folder;
  // By names alone, from inside the folder: the scripts hand them to a shell, and the path of a
  // temporary folder is the user's own text. No start-up file is read (-d).
  const std::string out = format == "png" ? "figure.png" : "figure.svg";
  write_file((folder / "data.csv").string(), csv);
  const auto code = run_gnuplot(
      {"gnuplot", "-d", "-e", fmt::format("csv='data.csv'; out='{}'", out), path.string()},
      folder / "", limit);
  if (!code) {
    throw usage_error("gnuplot took more than {} s on {}.gp and was ended; take --format csv",
                      std::chrono::ceil<std::chrono::seconds>(limit).count(), script);
  }
  std::string figure = read_all(folder / out.c_str());
  if (*code != 0 || figure.empty()) {
    std::string said = read_all(folder / "log");
    throw usage_error("gnuplot ended with {} on {}.gp: {}", *code, script,
                      printable(said.substr(0, 300)));
  }
  return figure;
}

}  // namespace approx
