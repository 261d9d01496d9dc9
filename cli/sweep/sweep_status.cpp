// sweep status and sweep stop: a second look at sweeps that are at work, from another shell.
#include "results/reports/sweep_status.h"

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/error.h"
#include "cli/command.h"
#include "cli/flags.h"
#include "cli/help.h"
#include "cli/slurm/status.h"
#include "cli/sweep/sweep_commands.h"
#include "cli/sweep/sweep_lock.h"
#include "cli/tables.h"
#include "cli/text.h"
#include "results/render/table.h"

namespace approx {
namespace {

// "@wang2019:table5" and "wang2019:table5" are the experiment of that name.
std::string id_of(const std::string& given) {
  return given.starts_with('@') ? given.substr(1) : given;
}

void stop_sweeps(const std::string& db, const std::string& experiment) {
  bool asked = false;
  std::vector<std::string> refusals;
  for (const auto process : SweepLock::holders(db, experiment)) {
    if (::kill(process, SIGTERM) == 0) {
      std::fputs(fmt::format("asked process {} to stop\n", process).c_str(), stderr);
      asked = true;
    } else if (errno != ESRCH) {  // it has not just ended
      refusals.push_back(
          fmt::format("process {} cannot be stopped: {}", process, std::strerror(errno)));
    }
  }
  if (!refusals.empty()) throw usage_error("{}", fmt::join(refusals, "; "));
  if (!asked) {
    const std::string text = fmt::format("{}: no sweep{} is at work on this machine", db,
                                         experiment.empty() ? "" : " of " + experiment);
    std::fputs((printable(text) + "\n").c_str(), stderr);
  }
}

}  // namespace

void add_sweep_status(CLI::App& sweep, GlobalOptions& options) {
  struct Flags {
    std::string experiment, format;
  };
  auto* status =
      sweep.add_subcommand("status", "Show where sweeps stand, while they run or afterwards");
  status->footer("approxtrain sweep status --db results.db");
  auto flags = std::make_shared<Flags>();
  status->add_option("ID", flags->experiment, "only this experiment (default: all)");
  add_choice(
      *status, "--format", flags->format, {"md", "csv", "json", "jsonl"},
      "Markdown, CSV, JSON or JSON lines (default: Markdown, on a terminal a table that fits it)");
  status->group(kStandsAlone);
  status->callback([flags, status, &options] {
    refuse_options_above(*status);
    auto sweeps = sweep_status(Snapshot(options.db), id_of(flags->experiment));
    for (auto& sweep : submitted_status(options.db, id_of(flags->experiment))) {
      sweeps.push_back(std::move(sweep));
    }
    std::fputs(table_text(status_table(sweeps), {.format = flags->format}).c_str(), stdout);
  });

  auto* stop =
      sweep.add_subcommand("stop", "Stop the sweeps on the database in order, as Ctrl-C does");
  stop->footer("approxtrain sweep stop wang2019:table5 --db results.db");
  auto stopped = std::make_shared<Flags>();
  stop->add_option("ID", stopped->experiment, "only the sweeps of this experiment (default: all)");
  stop->group(kStandsAlone);
  stop->callback([stopped, stop, &options] {
    refuse_options_above(*stop);
    stop_sweeps(options.db, id_of(stopped->experiment));
  });
}

}  // namespace approx
