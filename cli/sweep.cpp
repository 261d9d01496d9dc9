// sweep: the runs of an experiment file, or what they would be.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <functional>
#include <optional>

#include "base/error.h"
#include "cli/axes.h"
#include "cli/bench_kernel.h"
#include "cli/command.h"
#include "cli/flags.h"
#include "cli/store.h"
#include "cli/study.h"
#include "cli/sweep/controls.h"
#include "cli/sweep/coordinator.h"
#include "cli/sweep_commands.h"
#include "cli/sweep_flags.h"
#include "cli/text.h"
#include "core/experiment/tuning.h"
#include "results/render/text_table.h"
#include "results/reports/stored_items.h"
#include "results/store/held_out.h"
#include "results/store/run_times.h"

namespace approx {
namespace {

constexpr const char* kSpec = "experiment file, or @paper:table";

using DataChecksums = std::function<std::string(const std::string&)>;

struct SweepFlags {
  std::string file;
  Overrides overrides;
  SweepOptions sweep;
  bool dry_run = false;
  bool fail_fast = false;
  bool tune = false;
  std::string controls;
  std::string format = "md";
};

// What the store, where there is one, knows of the runs: a dry run writes nothing.
std::vector<CellStatus> statuses(const Experiment& experiment, const std::string& db) {
  std::vector<CellStatus> known(experiment.runs().size());
  std::error_code error;
  if (!std::filesystem::exists(db, error)) return known;
  const RunStore store(db, RunStore::Mode::kRead);
  for (size_t i = 0; i < known.size(); ++i) {
    if (experiment.runs()[i].excluded.empty()) known[i] = store.status(experiment.runs()[i].key);
  }
  return known;
}

std::string stored_state(const CellStatus& status) {
  return std::string(status.state ? name(*status.state) : "");
}

Json expected_json(const RunTimes& times, const PlannedRun& run) {
  const auto seconds = run.excluded.empty() ? times.expected(run.config) : std::nullopt;
  return seconds ? Json(*seconds) : Json(nullptr);
}

// What runs take one by one, as far as it is known.
struct TimeLeft {
  double seconds = 0;
  int64_t known = 0;

  void add(const std::optional<double>& expected) {
    seconds += expected.value_or(0);
    known += expected ? 1 : 0;
  }

  std::string text(int64_t runs) const {
    if (known == 0) return "";
    const auto time = std::chrono::seconds(static_cast<int64_t>(std::ceil(seconds)));
    const std::string of = known == runs ? "" : fmt::format(" for {} of them", known);
    return fmt::format("; about {}{} one by one, by runs in the store", format_duration(time), of);
  }
};

void print_plan(const Experiment& experiment, const GlobalOptions& options,
                const SweepFlags& flags) {
  const auto known = statuses(experiment, options.db);
  const RunTimes times(options.db);
  if (flags.format == "json") {
    Json runs = Json::array();
    for (size_t i = 0; i < known.size(); ++i) {
      const auto& run = experiment.runs()[i];
      const bool excluded = !run.excluded.empty();
      runs.push_back({{"run_key", excluded ? Json(nullptr) : Json(run.key)},
                      {"method", run.method_label},
                      {"schedule", run.schedule_label},
                      {"network", run.network_label},
                      {"state", stored_state(known[i])},
                      {"tainted", known[i].tainted},
                      {"to_do", !excluded && needs_run(known[i], flags.sweep.rerun)},
                      {"excluded", run.excluded},
                      {"expected_s", expected_json(times, run)},
                      {"config", run.config}});
    }
    const Json plan = {{"schema", "approxtrain.plan/1"},
                       {"experiment", experiment.id},
                       {"title", experiment.title},
                       {"runs", runs}};
    std::fputs((json_text(plan, 2) + "\n").c_str(), stdout);
    return;
  }
  std::vector<std::vector<std::string>> rows;
  int64_t to_do = 0, excluded = 0;
  TimeLeft left;
  for (size_t i = 0; i < known.size(); ++i) {
    const auto& run = experiment.runs()[i];
    std::string state = known[i].state ? stored_state(known[i]) : "to do";
    if (known[i].tainted) state += ", tainted";
    if (!run.excluded.empty()) {
      state = "excluded: " + run.excluded;
      ++excluded;
    } else if (needs_run(known[i], flags.sweep.rerun)) {
      ++to_do;
      left.add(times.expected(run.config));
      if (known[i].state) state += ", to do again";
    }
    rows.push_back({run.excluded.empty() ? run.key.substr(0, 12) : "-", run.method_label,
                    run.schedule_label, run.network_label, run.config.dataset,
                    std::string(name(run.config.purpose)), fmt::format("{}", run.config.seed),
                    state});
  }
  const std::string table = markdown_table(
      {"run", "method", "schedule", "network", "data set", "purpose", "seed", "state"}, rows);
  std::fputs(table.c_str(), stdout);
  std::fputs(
      fmt::format("\n{}: {} runs, {} to do, {} excluded{}\n", experiment.id,
                  rows.size() - static_cast<size_t>(excluded), to_do, excluded, left.text(to_do))
          .c_str(),
      stdout);
}

// An item that is no grid of trainings.
void sweep_item(const Experiment& experiment, const GlobalOptions& options,
                const SweepFlags& flags) {
  const auto say = [&](const std::string& what) {
    std::fputs(fmt::format("{}: {}\n", experiment.id, what).c_str(), stderr);
  };
  if (const auto* not_run = experiment.as<NotRunItem>()) return say("not run: " + not_run->why);
  const auto* kernels = experiment.as<KernelItem>();
  const auto* study = experiment.as<StudyItem>();
  if (kernels == nullptr && study == nullptr) {
    return say("a picture drawn from the file; `report paper` shows it");
  }
  const std::string what = kernels != nullptr
                               ? fmt::format("kernel benchmark of the {}", kernels->op)
                               : fmt::format("study {}", study->name);
  if (flags.dry_run) {
    std::fputs(fmt::format("{}: {}\n", experiment.id, what).c_str(), stdout);
    return;
  }
  {
    RunStore store = open_store(options);
    const bool again = flags.sweep.rerun.has(RunState::kFinished);
    if (!again && store.has_item_results(experiment.id)) return say("nothing left to do");
    store.add_experiment(experiment, options.command_line);
  }
  if (kernels != nullptr) {
    run_kernel_item(experiment, *kernels, options);
  } else {
    run_study_item(experiment, *study, options);
  }
  say(what + " done");
}

// Takes the learning rates of a tuned experiment from the store and says which they are.
void take_rates(Experiment& experiment, const std::string& db, const DataChecksums& checksums) {
  if (!experiment.tuning) return;
  const auto lines =
      take_tuned_rates(experiment, stored_accuracy(db), Catalogue::embedded(), checksums);
  for (const auto& line : lines) {
    std::fputs(fmt::format("{}: {}\n", experiment.id, line).c_str(), stderr);
  }
}

// The runs to do: those that tune, or those that are evaluated with the rates that tuning found.
Experiment planned(const SweepFlags& flags, const GlobalOptions& options,
                   const DataChecksums& checksums) {
  Experiment experiment =
      load_experiment(flags.file, flags.overrides, Catalogue::embedded(), checksums);
  if (flags.tune) {
    if (!experiment.tuning) {
      throw usage_error("--tune: {} has no [tune] at {} scale, or a flag gives the learning rate",
                        experiment.id, name(experiment.scale));
    }
    return tuning_runs(experiment, Catalogue::embedded(), checksums);
  }
  take_rates(experiment, options.db, checksums);
  const auto& runs = experiment.runs();
  const auto untuned = std::count_if(runs.begin(), runs.end(),
                                     [](const auto& run) { return run.excluded == kNotTuned; });
  if (untuned > 0 && !flags.dry_run) {
    throw usage_error(
        "{} of {} runs have no learning rate yet; run the same with --tune first, or "
        "give one with --set recipe.learning_rate=RATE",
        untuned, runs.size());
  }
  return experiment;
}

}  // namespace

void add_sweep(CLI::App& app, GlobalOptions& options) {
  auto* command = app.add_subcommand("sweep", "Run an experiment: what is missing of it");
  command->footer(
      "approxtrain sweep @wang2019:table5 --dry-run\n"
      "approxtrain sweep table.toml --seeds 0-9 --method dense,zero");
  auto flags = std::make_shared<SweepFlags>();
  command->add_option("SPEC", flags->file, kSpec);
  command->require_subcommand(0, 1);
  add_sweep_status(*command, options);
  add_axis_flags(*command, flags->overrides, /*lists=*/true);
  add_sweep_flags(*command, flags->sweep);
  static constexpr const char* kGroup = "How to run";
  add_integer(*command, "--jobs", flags->sweep.jobs, 1, 1024,
              "runs at the same time (default 1); timing runs always one")
      ->group(kGroup);
  auto* fail_fast =
      command->add_flag("--fail-fast", flags->fail_fast, "start no more runs after a failed one");
  fail_fast->group(kGroup);
  add_integer(*command, "--max-failures", flags->sweep.max_failures, 1, 1'000'000,
              "start no more runs after N failed ones")
      ->group(kGroup)
      ->excludes(fail_fast);
  command
      ->add_option("--controls", flags->controls,
                   "add what a method must beat: iso-time (exact training as short as it is fast, "
                   "by its timing runs in the store), random (a random choice of the same "
                   "density), smaller-net=NETWORK")
      ->type_name("CONTROL,...")
      ->group("What to run");
  command
      ->add_flag(
          "--tune", flags->tune,
          "run what the file's [tune] asks for: every candidate of the learning rate, for each "
          "row, on held-out images; sweep without it then takes the best of each")
      ->group("What to run");
  auto* dry_run =
      command->add_flag("--dry-run", flags->dry_run, "show the runs; start and write nothing");
  add_choice(*command, "--format", flags->format, {"md", "json"}, "of --dry-run (default md)")
      ->needs(dry_run);
  command->callback([flags, command, &options] {
    if (!command->get_subcommands().empty()) return;
    if (flags->file.empty()) throw usage_error("SPEC is missing: {}", kSpec);
    const auto checksums = dataset_checksums(options.data_dir, flags->dry_run);
    Experiment experiment = planned(*flags, options, checksums);
    if (!flags->controls.empty()) {
      const auto left_out =
          add_controls(experiment, parse_controls(flags->controls),
                       stored_rows(options.db, experiment.id), Catalogue::embedded(), checksums);
      for (const auto& line : left_out) {
        std::fputs(fmt::format("no control for {}\n", line).c_str(), stderr);
      }
    }
    if (!experiment.as<Trainings>()) return sweep_item(experiment, options, *flags);
    if (flags->dry_run) return print_plan(experiment, options, *flags);
    if (flags->fail_fast) flags->sweep.max_failures = 1;
    const SweepResult result = run_experiment(experiment, options, flags->sweep);
    const int code = finish_sweep(experiment, result);
    if (flags->tune) {
      auto tuned = load_experiment(flags->file, flags->overrides, Catalogue::embedded(), checksums);
      take_rates(tuned, options.db, checksums);
    }
    if (code != 0) throw Exit{code};
  });
}

}  // namespace approx
