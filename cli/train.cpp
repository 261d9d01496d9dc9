// train: one run from flags; `train --worker` is the process that computes any
// run.
#include <cstdio>

#include "cli/axes.h"
#include "cli/command.h"
#include "cli/coordinator.h"
#include "cli/sweep_flags.h"
#include "cli/text.h"
#include "cli/worker.h"
#include "core/spec/error.h"

namespace approx {
namespace {

struct TrainFlags {
  std::string worker_directory;
  std::string format = "md";
  Overrides overrides;
  SweepOptions sweep;

  bool has(const std::string& axis) const {
    for (const auto& [key, text] : overrides.axes) {
      if (key == axis) return true;
    }
    return false;
  }
};

Json last_metric(const std::vector<Json>& events, const std::string& metric,
                 const std::vector<std::string>& splits) {
  for (const auto& split : splits) {
    for (auto event = events.rbegin(); event != events.rend(); ++event) {
      if (event->value("event", Json()) == "metric" && event->value("name", Json()) == metric &&
          event->value("split", Json()) == split) {
        return {{"split", split}, {"value", event->value("value", Json())}};
      }
    }
  }
  return nullptr;
}

std::string number(const Json& metric, double factor, const char* format) {
  if (!metric.is_object() || !metric["value"].is_number()) return "-";
  return fmt::format(fmt::runtime(format), factor * metric["value"].get<double>());
}

void print_row(const EndedRun& ended, const std::string& format) {
  const auto& config = ended.run->config;
  const Json accuracy = last_metric(ended.events, "accuracy", {"test", "holdout"});
  const Json loss = last_metric(ended.events, "loss", {"train"});
  Json final;
  for (const auto& event : ended.events) {
    if (event.value("event", Json()) == "final") final = event;
  }
  const auto entry = [&](const char* key) {
    return final.is_object() ? final.value(key, Json()) : Json();
  };
  const Json train_ns = entry("train_ns");
  if (format == "json") {
    const Json row = {{"schema", "approxtrain.run/1"},
                      {"run_key", ended.run->key},
                      {"state", ended.end.state},
                      {"error", ended.end.error},
                      {"method", config.method},
                      {"network", config.network},
                      {"dataset", config.dataset},
                      {"seed", config.seed},
                      {"accuracy", accuracy},
                      {"loss", loss},
                      {"steps", entry("steps")},
                      {"train_ns", train_ns},
                      {"directory", printable(ended.directory)}};
    std::fputs((row.dump(2, ' ', false, Json::error_handler_t::replace) + "\n").c_str(), stdout);
    return;
  }
  const std::vector<std::string> header = {"run",  "method", "network",      "data set",
                                           "seed", "state",  "accuracy (%)", "judged on",
                                           "loss", "steps",  "training (s)"};
  const std::vector<std::vector<std::string>> rows = {
      {ended.run->key.substr(0, 12), ended.run->method_label, ended.run->network_label,
       config.dataset, fmt::format("{}", config.seed), ended.end.state,
       number(accuracy, 100, "{:.2f}"),
       accuracy.is_object() ? accuracy["split"].get<std::string>() : "-", number(loss, 1, "{:.4f}"),
       entry("steps").is_number() ? entry("steps").dump() : "-",
       train_ns.is_number() ? fmt::format("{:.2f}", train_ns.get<double>() / 1e9) : "-"}};
  std::fputs((format == "csv" ? csv_table(header, rows) : markdown_table(header, rows)).c_str(),
             stdout);
}

void train(TrainFlags& flags, const GlobalOptions& options) {
  for (const char* needed : {"network", "dataset"}) {
    if (!flags.has(needed)) {
      throw usage_error("train: --{} is missing; see approxtrain list {}s", needed, needed);
    }
  }
  if (!flags.has("method")) flags.overrides.axes.emplace_back("method", "dense");
  if (!flags.has("seeds")) flags.overrides.axes.emplace_back("seeds", "0");
  const Experiment experiment =
      parse_experiment("id = \"train\"\n", "train", flags.overrides, Catalogue::embedded(),
                       dataset_checksums(options.data_dir, /*may_be_missing=*/false));
  if (experiment.runs.size() != 1) {
    throw usage_error("train: these flags name {} runs; name one value each, or use sweep",
                      experiment.runs.size());
  }
  if (!experiment.runs[0].excluded.empty()) {
    throw usage_error("train: this run cannot be done: {}", experiment.runs[0].excluded);
  }
  const SweepResult result =
      run_experiment(experiment, command_line(), options, flags.sweep,
                     [&](const EndedRun& ended) { print_row(ended, flags.format); });
  if (result.done_before > 0) {
    std::fputs(fmt::format("approxtrain: run {} is done already; --rerun "
                           "finished,diverged does it "
                           "again\n",
                           experiment.runs[0].key.substr(0, 12))
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
      "  --method topk_position:k=1 --epochs 2");
  auto flags = std::make_shared<TrainFlags>();
  add_axis_flags(*command, flags->overrides, /*lists=*/false);
  add_sweep_flags(*command, flags->sweep);
  add_choice(*command, "--format", flags->format, {"md", "csv", "json"},
             "of the result row (default md)");
  command->add_option("--worker", flags->worker_directory, "run directory")->group("");
  command->callback([flags, &options] {
    if (!flags->worker_directory.empty()) throw Exit{run_worker(flags->worker_directory)};
    train(*flags, options);
  });
}

}  // namespace approx
