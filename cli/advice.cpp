// `approxtrain advice`: which method to use, from the results that come with the program.
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <memory>

#include "base/error.h"
#include "base/files.h"
#include "base/outputs.h"
#include "cli/command.h"
#include "cli/flags.h"
#include "cli/output.h"
#include "cli/tables.h"
#include "cli/text.h"
#include "core/config/run_config.h"
#include "results/reports/which_method.h"

namespace approx {
namespace {

constexpr const char* kFile = "which-method.json";

struct AdviceFlags {
  WhichMethodFilter filter;
  std::string format, out;  // format "": what a person reads
  ColumnFlags columns;
};

// The file beside the program.
std::string find_file() {
  std::error_code error;
  for (const auto& folder : program_folders("results/measured")) {
    const auto path = folder / kFile;
    if (std::filesystem::is_regular_file(path, error)) return path.string();
  }
  throw usage_error(
      "advice: {} is not beside the program; install it anew (cmake --install), or ask a store of "
      "your own: approxtrain report advice",
      kFile);
}

Table read_table(const std::string& path, const WhichMethodFilter& filter) {
  constexpr int64_t kMost = int64_t{16} << 20;  // bytes; it has some kilobytes
  note_input(path);
  const auto bytes = read_file(path, kMost);
  try {
    return which_method({reinterpret_cast<const char*>(bytes.data()), bytes.size()}, filter);
  } catch (const Error& error) {
    throw error.in(path);
  }
}

void print_advice(const AdviceFlags& flags) {
  check_printed_or_written(flags.out);
  const Table table = read_table(find_file(), flags.filter);
  print_or_write(
      table_text(table, {.format = flags.format, .out = flags.out, .columns = &flags.columns}),
      flags.out);
  if (table.rows.empty()) {
    std::fputs("nothing was measured there; approxtrain advice without options shows everything\n",
               stderr);
  }
}

}  // namespace

void add_advice(CLI::App& app, GlobalOptions& /*options*/) {
  auto* command = app.add_subcommand(
      "advice", "Show which method to use on which hardware, from the installed results");
  command->footer("approxtrain advice --hardware gpu --precision bf16");
  const auto flags = std::make_shared<AdviceFlags>();
  add_choice(*command, "--hardware", flags->filter.hardware, {"cpu", "gpu"}, "Only this hardware");
  add_choice(*command, "--precision", flags->filter.precision, names_of_enum<Precision>(),
             "Only training in this precision");
  command->add_flag("--all", flags->filter.all_networks,
                    "Show every network that was measured, not only the most telling one");
  add_choice(*command, "--format", flags->format, {"md", "csv", "json", "jsonl", "tex"},
             "Markdown, CSV, JSON, JSON lines or LaTeX (default: Markdown, on a terminal a table "
             "that fits it)");
  add_column_flags(*command, flags->columns);
  command->add_option("--out", flags->out, "Write to this file instead of standard output");
  command->callback([flags] { print_advice(*flags); });
}

}  // namespace approx
