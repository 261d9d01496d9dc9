// `approxtrain report`: what the store holds, as tables.
#include "results/report.h"

#include <cstdio>
#include <memory>

#include "cli/command.h"
#include "cli/text.h"

namespace approx {
namespace {

struct ReportFlags {
  ReportOptions report;
  std::string format = "md";
  std::string out;
};

void write(const Table& table, const ReportFlags& flags) {
  const std::string text = render(table, flags.format);
  if (flags.out.empty() || flags.out == "-") {
    std::fputs(text.c_str(), stdout);
  } else {
    write_file(flags.out, text);
  }
  if (table.rows.empty()) {
    std::fputs("nothing to report: the store has no such rows yet\n", stderr);
  }
}

}  // namespace

void add_report(CLI::App& app, GlobalOptions& options) {
  auto* report = app.add_subcommand("report", "Tables of the results in the store");
  const auto flags = std::make_shared<ReportFlags>();
  add_choice(*report, "--format", flags->format, {"md", "csv", "json", "jsonl"},
             "Markdown, CSV, one JSON document, or a JSON object a line");
  report->add_option("--out", flags->out, "Write to a file, not to standard output");
  report->add_flag("--include-tainted", flags->report.include_tainted,
                   "Count timing runs that were disturbed or shared the machine");
  // The options above may stand before or after the name of the table.
  const auto add_table = [&](const char* name, const char* about) {
    auto* table = report->add_subcommand(name, about);
    table->fallthrough();
    return table;
  };
  const auto add_experiment = [&](CLI::App* table) {
    table->add_option("EXPERIMENT", flags->report.experiment,
                      "Only the runs of this experiment (wang2019:table5)");
  };
  auto* table = add_table("table", "Accuracy, loss against dense, speedup: one row a method");
  auto* kernels = add_table("kernels", "Kernel benchmarks: the last of each case");
  auto* runs = add_table("runs", "Every attempt at every run");
  add_experiment(report);
  add_experiment(table);
  add_experiment(runs);
  report->require_subcommand(0, 1);
  report->callback([flags, kernels, runs, &options] {
    if (kernels->parsed()) {
      write(report_kernels(options.db), *flags);
    } else if (runs->parsed()) {
      write(report_runs(options.db, flags->report), *flags);
    } else {
      write(report_table(options.db, flags->report), *flags);
    }
  });
}

}  // namespace approx
