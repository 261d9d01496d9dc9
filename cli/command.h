// What every subcommand shares. A subcommand is one file: it adds itself to the option tree with
// CLI::App::add_subcommand and does its work in the callback of that CLI::App.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

namespace approx {

// Options before the subcommand. They say where things are and how to speak, and never change a
// result. Filled when a callback runs: keep a reference to the object, not a copy.
struct GlobalOptions {
  // --db, APPROXTRAIN_DB, ./approxtrain.db if there is one, else approxtrain.db in the user's data
  // folder (base/user_folders.h); "" where that cannot be used: who opens it says so.
  std::string db;
  bool default_db = false;        // `db` is the one in the user's data folder, which may be missing
  std::string data_dir;           // --data-dir, APPROXTRAIN_DATA, else data in that folder or ""
  bool verify_data = true;        // --no-verify: trust the size of a packed data set
  std::string progress = "auto";  // auto, bar, log, json, none
  bool verbose = false;
  std::string command_line;  // of this process, as text that a shell reads back
};

// How a callback ends:
// - it returns: exit code 0;
// - it throws approx::Error: main prints its one line and exits with its kind;
// - it throws Exit: main exits with that code and prints nothing. For a code that is no error of
//   the command (a failed cell of a sweep: 3, a gate of a report: 4, an interruption: 130), after
//   the command has printed what there is to say.
struct Exit {
  int code = 0;
};

// Each adds one subcommand. Called once per process, before the command line is parsed: it must not
// open a file, a database or libapproxtrain.so. The footer of the CLI::App is its example, one
// command a line, which --help shows first; --help wraps every text at 80 columns itself. A help
// text that cannot be wrong is generated: complete lists of names belong to `approxtrain list`.
void add_sweep(CLI::App& app, GlobalOptions& options);
void add_train(CLI::App& app, GlobalOptions& options);
void add_report(CLI::App& app, GlobalOptions& options);
void add_advice(CLI::App& app, GlobalOptions& options);
void add_bench_kernel(CLI::App& app, GlobalOptions& options);
void add_tune_kernels(CLI::App& app, GlobalOptions& options);
void add_study(CLI::App& app, GlobalOptions& options);
void add_data(CLI::App& app, GlobalOptions& options);
void add_list(CLI::App& app, GlobalOptions& options);
void add_show(CLI::App& app, GlobalOptions& options);
void add_db(CLI::App& app, GlobalOptions& options);
void add_doctor(CLI::App& app, GlobalOptions& options);
void add_schedule(CLI::App& app, GlobalOptions& options);
void add_throughput(CLI::App& app, GlobalOptions& options);
void add_completion(CLI::App& app, GlobalOptions& options);

}  // namespace approx
