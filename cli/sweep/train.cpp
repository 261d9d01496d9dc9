// train: one run from flags; `train --worker` is the process that computes any run, `train --job`
// the one that has a run of several ranks computed.
#include <cstdio>

#include "base/error.h"
#include "cli/command.h"
#include "cli/environment.h"
#include "cli/flags.h"
#include "cli/python_flags.h"
#include "cli/ranks/job.h"
#include "cli/sweep/axes.h"
#include "cli/sweep/coordinator.h"
#include "cli/sweep/possible.h"
#include "cli/sweep/spelling.h"
#include "cli/sweep/sweep_flags.h"
#include "cli/sweep/sweep_outcome.h"
#include "cli/sweep/worker.h"
#include "cli/tables.h"
#include "core/config/dense.h"
#include "results/reports/run_details.h"

namespace approx {
namespace {

struct TrainFlags {
  std::string worker_directory, job_directory;
  bool is_rank = false;
  std::string format;  // "": for a person
  Overrides overrides;
  SweepOptions sweep;
  PythonFlags python;

  bool has(const std::string& axis) const {
    for (const auto& [key, text] : overrides.axes) {
      if (key == axis) return true;
    }
    return false;
  }
};

// The last value of a metric, of the first of `splits` that has any. `metrics` are in order of
// step.
Json last_metric(const Json& metrics, const std::string& metric,
                 const std::vector<std::string>& splits) {
  for (const auto& split : splits) {
    for (size_t i = metrics.size(); i-- > 0;) {
      if (metrics[i]["name"] == metric && metrics[i]["split"] == split) {
        return {{"split", split}, {"value", metrics[i]["value"]}};
      }
    }
  }
  return nullptr;
}

std::string number(const Json& value, double factor, const char* format) {
  return value.is_number() ? fmt::format(fmt::runtime(format), factor * value.get<double>()) : "-";
}

// The result as the store has it (`show run`), so that a run done before reads like a new one.
void print_row(const PlannedRun& planned, const Json& details, const std::string& format) {
  const auto& config = planned.config;
  const Json& run = details.at("run");
  const Json accuracy = last_metric(details.at("metrics"), "accuracy", {"test", "holdout"});
  const Json loss = last_metric(details.at("metrics"), "loss", {"train"});
  const auto value = [](const Json& metric) {
    return metric.is_object() ? metric["value"] : Json();
  };
  if (format == "json") {
    const Json row = {{"schema", "approxtrain.result/1"},
                      {"run_id", run.at("run_id")},
                      {"run_key", planned.key},
                      {"state", run.at("state")},
                      {"error", run.at("error")},
                      {"method", config.method},
                      {"network", config.network},
                      {"dataset", config.dataset},
                      {"seed", config.seed},
                      {"accuracy", accuracy},
                      {"loss", loss},
                      {"steps", run.at("steps")},
                      {"train_ns", run.at("train_ns")},
                      {"directory", run.at("run_directory")}};
    std::fputs((json_text(row, 2) + "\n").c_str(), stdout);
    return;
  }
  const std::vector<std::string> header = {"run",  "method", "network",      "data set",
                                           "seed", "state",  "accuracy (%)", "measured on",
                                           "loss", "steps",  "training (s)"};
  const std::vector<std::vector<std::string>> rows = {
      {planned.key.substr(0, 12), planned.method_label, planned.network_label, config.dataset,
       fmt::format("{}", config.seed), run.at("state").get<std::string>(),
       number(value(accuracy), 100, "{:.2f}"),
       accuracy.is_object() ? accuracy["split"].get<std::string>() : "-",
       number(value(loss), 1, "{:.4f}"), number(run.at("steps"), 1, "{:.0f}"),
       number(run.at("train_ns"), 1e-9, "{:.2f}")}};
  std::fputs(rows_text(header, rows, {.format = format}).c_str(), stdout);
}

void train(TrainFlags& flags, const GlobalOptions& options) {
  for (const char* needed : {"network", "dataset"}) {
    if (!flags.has(needed)) {
      throw usage_error("train: --{} is missing; see approxtrain list {}s", needed, needed);
    }
  }
  if (!flags.has("method") && flags.has("schedule")) {
    throw usage_error(
        "train: --schedule says when a method approximates, and there is none; name it with "
        "--method");
  }
  if (!flags.has("method")) flags.overrides.axes.emplace_back("method", kDense);
  if (!flags.has("seeds")) flags.overrides.axes.emplace_back("seeds", "0");
  Experiment experiment =
      parse_experiment("id = \"train\"\n", "train", flags.overrides, Catalogue::embedded(),
                       dataset_checksums(options.data_dir));
  exclude_unserved(experiment);
  if (experiment.runs().size() != 1) {
    throw usage_error("train: these flags name {} runs; name one value each, or use sweep",
                      experiment.runs().size());
  }
  if (!experiment.runs()[0].excluded.empty()) {
    throw usage_error("train: this run cannot be done: {}", experiment.runs()[0].excluded);
  }
  if (flags.sweep.require_clean) require_clean(experiment.files);
  auto& runs = std::get<Trainings>(experiment.work).runs;
  for (const auto& line : idle_lines(runs)) {
    std::fputs(fmt::format("approxtrain: {}\n", line).c_str(), stderr);
  }
  keep_stored_keys(runs, options.db);
  const PlannedRun& planned = runs[0];
  const SweepResult result = run_experiment(experiment, options, flags.sweep);
  const int64_t run_id = RunStore(options.db, RunStore::Mode::kRead).status(planned.key).run_id;
  if (run_id > 0) print_row(planned, run_details(Snapshot(options.db), run_id), flags.format);
  if (result.done_before > 0) {
    const bool asked = !flags.sweep.record_folder.empty();
    std::fputs(
        fmt::format("approxtrain: run {} was done before{}; --rerun finished,diverged does it "
                    "again\n",
                    planned.key.substr(0, 12), asked ? " and was not recorded now" : "")
            .c_str(),
        stderr);
    return;
  }
  const int code = finish_sweep(experiment, result);
  if (code != 0) throw Exit{code};
}

}  // namespace

void add_train(CLI::App& app, GlobalOptions& options) {
  auto* command = app.add_subcommand("train", "Train one network with one method");
  command->footer(
      "approxtrain train --network small_cnn --dataset mnist14 \\\n"
      "  --method topk_position:k=1 --epochs 2\n"
      "approxtrain train --network small_cnn --dataset mnist14 \\\n"
      "  --method stochastic_pruning --epochs 4 --record operands --record-every 2ep");
  auto flags = std::make_shared<TrainFlags>();
  add_axis_flags(*command, flags->overrides, /*lists=*/false);
  add_python_flags(*command, flags->python, "What to run");
  add_sweep_flags(*command, flags->sweep);
  add_choice(*command, "--format", flags->format, {"md", "csv", "json"},
             "format of the result row (default md)");
  auto* worker =
      command->add_option("--worker", flags->worker_directory, "run directory")->group("");
  command->add_flag("--as-rank", flags->is_rank, "is one of several")->needs(worker)->group("");
  command->add_option("--job", flags->job_directory, "run directory")->group("");
  command->callback([flags, &options] {
    if (!flags->job_directory.empty()) throw Exit{run_job(flags->job_directory)};
    if (!flags->worker_directory.empty()) {
      const auto run = flags->is_rank ? run_rank : run_worker;
      throw Exit{run(flags->worker_directory)};
    }
    use_python(flags->python);
    train(*flags, options);
  });
}

}  // namespace approx
