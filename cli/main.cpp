// The program: the option tree, and the one place that catches errors and turns them into the exit
// codes of docs/cli.md.
#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <new>

#include "base/error.h"
#include "base/outputs.h"
#include "base/user_folders.h"
#include "cli/command.h"
#include "cli/flags.h"
#include "cli/help.h"
#include "cli/store.h"
#include "cli/text.h"
#include "cli/version.h"
#include "core/data/dataset.h"
#include "results/store/database.h"
#include "results/store/run_folders.h"

namespace approx {
namespace {

namespace fs = std::filesystem;

// A write beyond `ulimit -f` is an error like any other and not the end of the process.
void ignore_file_size_signal() { std::signal(SIGXFSZ, SIG_IGN); }

// A file opened in the place of a closed standard stream would receive our output. Who closes
// stderr wants no messages; who closes stdout gets no result, so writes to it fail.
void hold_standard_streams() {
  for (int descriptor = 0; descriptor < 3; ++descriptor) {
    if (fcntl(descriptor, F_GETFD) >= 0) continue;
    const int flags = descriptor == STDERR_FILENO ? O_WRONLY : O_RDONLY;
    if (open("/dev/null", flags) != descriptor) std::abort();
  }
}

std::string environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

void choose_db(GlobalOptions& options) {
  std::error_code unreadable;
  options.db = environment("APPROXTRAIN_DB");
  if (!options.db.empty()) return;
  if (fs::exists("approxtrain.db", unreadable)) {
    options.db = "approxtrain.db";
  } else {
    // Without a folder for it: who needs a database says so (results/store/run_folders.h).
    const std::string folder = data_folder().path;
    if (!folder.empty()) options.db = folder + "/approxtrain.db";
    options.default_db = true;
  }
}

// Whether the command shows what a store holds, and takes it by --db.
bool only_reads(const CLI::App& app) {
  const auto* report = app.get_subcommand("report");
  return app.got_subcommand("show") || app.got_subcommand("serve") ||
         (report->parsed() && !report->got_subcommand("compare"));
}

std::string default_data_dir() {
  const std::string chosen = environment("APPROXTRAIN_DATA");
  if (!chosen.empty()) return chosen;
  const std::string folder = data_folder().path;
  return folder.empty() ? "" : folder + "/data";
}

// What no output of a command may replace, whatever the command reads.
void keep_own_files(const GlobalOptions& options, bool data_is_written) {
  keep_file("/proc/self/exe", "is this program");
  keep_store(options.db);
  if (data_is_written || options.data_dir.empty()) return;
  for (const auto* entry : Registry<DatasetEntry>::instance().all()) {
    if (entry->embedded != nullptr) continue;
    keep_file(packed_path(entry->name, options.data_dir), "is a packed data set");
  }
}

void complain(const std::string& message) {
  std::fputs(("approxtrain: " + printable(message) + "\n").c_str(), stderr);
}

// stdout is written to the end or the command has failed; a reader that left is no failure.
int flushed(int code) {
  errno = 0;
  const bool failed = std::fflush(stdout) != 0 || std::ferror(stdout) != 0;
  if (!failed || errno == EPIPE || code != 0) return code;
  complain(fmt::format("standard output: {}", std::strerror(errno != 0 ? errno : EIO)));
  return static_cast<int>(ErrorKind::kInternal);
}

std::string command_line(int argc, char** argv) {
  std::string words = "approxtrain";
  for (int i = 1; i < argc; ++i) words += " " + shell_word(argv[i]);
  return printable(words);
}

int run(int argc, char** argv) {
  CLI::App app("Measures approximate training methods for neural networks", "approxtrain");
  app.fallthrough();
  app.set_help_flag("--help,-h", "show this help");
  GlobalOptions options;
  options.command_line = command_line(argc, argv);
  bool version = false;
  std::string version_format;
  const auto* db_flag = app.add_option("--db", options.db,
                                       "database of results (default: APPROXTRAIN_DB, else "
                                       "approxtrain.db here, else in the data folder)")
                            ->type_name("FILE");
  app.add_option(
         "--data-dir", options.data_dir,
         "folder of packed data sets (default: APPROXTRAIN_DATA, else data in the data folder)")
      ->type_name("DIR");
  app.add_flag_callback(
      "--no-verify", [&] { options.verify_data = false; },
      "use packed data sets without comparing their checksums");
  add_choice(app, "--progress", options.progress, {"auto", "bar", "log", "json", "none"},
             "how progress is shown: auto is a bar on a terminal, else lines (default auto)");
  app.add_flag("--verbose,-v", options.verbose, "print more to stderr");
  app.add_flag("--version", version, "version of the program (with --format json: all of it)");
  add_choice(app, "--format", version_format, {"text", "json"}, "format of --version")->group("");
  app.require_subcommand(0, 1);

  add_train(app, options);
  add_sweep(app, options);
  add_report(app, options);
  add_serve(app, options);
  add_advice(app, options);
  add_bench_kernel(app, options);
  add_tune_kernels(app, options);
  add_study(app, options);
  add_list(app, options);
  add_show(app, options);
  add_schedule(app, options);
  add_data(app, options);
  add_db(app, options);
  add_doctor(app, options);
  add_throughput(app, options);
  add_completion(app, options);
  // After the commands, which would inherit it.
  app.footer(
      "approxtrain train --network small_cnn --dataset mnist14 --epochs 2\n"
      "approxtrain sweep @wang2019:table5 --dry-run");

  app.parse_complete_callback([&] {
    if (!version_format.empty() && !version) {
      throw usage_error("--format: this command has no such option");
    }
    if (options.db.empty()) {
      // A shell variable that is not set is no choice of the default.
      if (db_flag->count() > 0) throw usage_error("--db: the name is empty; give one or no --db");
      choose_db(options);
      if (only_reads(app)) read_store_here(options);
    }
    if (options.data_dir.empty()) options.data_dir = default_data_dir();
    keep_own_files(options, app.got_subcommand("data"));
  });
  try {
    app.parse(argc, argv);
    if (version) {
      std::fputs(version_text(version_format).c_str(), stdout);
    } else if (app.get_subcommands().empty()) {
      throw usage_error("a command is missing; see approxtrain --help");
    }
    return 0;
  } catch (const CLI::CallForHelp&) {
    std::fputs(help_text(active_command(app)).c_str(), stdout);
    return 0;
  } catch (const CLI::ParseError& error) {
    complain(parse_problem(app, error));
    return static_cast<int>(ErrorKind::kUsage);
  } catch (const SQLite::Exception& error) {  // of a query: what opening finds says so itself
    throw_database_error(options.db, error);
  } catch (const fs::filesystem_error& error) {  // of a path that cannot be followed
    const std::string message =
        fmt::format("{}: {}", error.path1().string(), error.code().message());
    const bool is_db = !options.default_db && error.path1() == options.db;
    throw Error(is_db ? ErrorKind::kDatabase : ErrorKind::kUsage, message);
  }
}

// Does what the command line says. Returns the exit code. Throws std::bad_alloc also where there is
// no memory for the message.
int guarded(int argc, char** argv) {
  try {
    return flushed(run(argc, argv));
  } catch (const Exit& exit) {
    return flushed(exit.code);
  } catch (const Error& error) {
    complain(error.what());
    return flushed(static_cast<int>(error.kind()));
  } catch (const std::bad_alloc&) {
    throw;
  } catch (const std::exception& error) {
    complain(error.what());
    return flushed(static_cast<int>(ErrorKind::kInternal));
  }
}

}  // namespace
}  // namespace approx

int main(int argc, char** argv) {
  approx::hold_standard_streams();
  approx::ignore_file_size_signal();
  try {
    return approx::guarded(argc, argv);
  } catch (const std::bad_alloc&) {
    std::fputs("approxtrain: out of memory\n", stderr);  // needs none
    std::fflush(stdout);
    return static_cast<int>(approx::ErrorKind::kInternal);
  }
}
