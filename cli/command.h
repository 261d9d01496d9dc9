// Declarations that all subcommands share. A subcommand is one file. It adds itself to the option
// tree with CLI::App::add_subcommand, and does its work in the callback of that CLI::App.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

namespace approx {

// Options before the subcommand. They name places and set the output style; they never change a
// result. They are filled when a callback runs: keep a reference to the object, not a copy.
struct GlobalOptions {
  // --db, else APPROXTRAIN_DB, else ./approxtrain.db if it exists. Otherwise it is approxtrain.db
  // in the user's data folder (base/user_folders.h), or "" if that cannot be used; opening it then
  // reports why.
  std::string db;
  bool default_db = false;        // `db` is the one in the user's data folder and may be missing
  std::string data_dir;           // --data-dir, APPROXTRAIN_DATA, else data in that folder or ""
  bool verify_data = true;        // --no-verify: trust the size of a packed data set
  std::string progress = "auto";  // auto, bar, log, json, none
  bool verbose = false;
  std::string command_line;  // of this process, as text that a shell reads back
};

// How a callback ends:
// - it returns: exit code 0;
// - it throws approx::Error: main prints its one line and exits with the code of its kind;
// - it throws Exit: main exits with that code and prints nothing. It is for codes that are no error
//   of the command (a failed cell of a sweep: 3, a gate of a report: 4, an interruption: 130). The
//   command has then printed all that there is to say.
struct Exit {
  int code = 0;
};

// Each function adds one subcommand. It is called once per process, before the command line is
// parsed, so it must not open a file, a database or libapproxtrain.so. The footer of the CLI::App
// is its example, one command a line. --help shows the example first and wraps every text at 80
// columns itself. Complete lists of names belong to `approxtrain list`, so that help texts cannot
// become wrong.
void add_sweep(CLI::App& app, GlobalOptions& options);
void add_train(CLI::App& app, GlobalOptions& options);
void add_report(CLI::App& app, GlobalOptions& options);
void add_serve(CLI::App& app, GlobalOptions& options);
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
