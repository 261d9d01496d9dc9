// sweep: the runs of an experiment file, or what they would be.
#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>

#include "base/error.h"
#include "base/outputs.h"
#include "cli/bench/bench_kernel.h"
#include "cli/command.h"
#include "cli/environment.h"
#include "cli/flags.h"
#include "cli/python_flags.h"
#include "cli/store.h"
#include "cli/study.h"
#include "cli/sweep/axes.h"
#include "cli/sweep/controls.h"
#include "cli/sweep/coordinator.h"
#include "cli/sweep/plan.h"
#include "cli/sweep/possible.h"
#include "cli/sweep/spelling.h"
#include "cli/sweep/submit.h"
#include "cli/sweep/sweep_checks.h"
#include "cli/sweep/sweep_commands.h"
#include "cli/sweep/sweep_flags.h"
#include "cli/sweep/sweep_lock.h"
#include "cli/sweep/sweep_outcome.h"
#include "cli/text.h"
#include "core/experiment/files.h"
#include "core/experiment/run_choice.h"
#include "core/experiment/tuning.h"
#include "results/records/items.h"
#include "results/records/snapshot.h"
#include "results/rows/stored_rows.h"

namespace approx {
namespace {

constexpr const char* kSpec =
    "experiment file, or @paper:table. Without it, --network, --dataset and --method describe the "
    "grid";

using DataChecksums = std::function<std::string(const std::string&)>;

struct SweepFlags {
  std::string file;
  std::string saved;  // --save
  Overrides overrides;
  RunPatterns patterns;
  SweepOptions sweep;
  SlurmRequest slurm;
  PythonFlags python;
  bool dry_run = false;
  bool tune = false;
  std::string controls;
  std::string format = "md";

  // The id of an experiment that flags alone describe.
  std::string id() const {
    return saved.empty() ? "grid" : std::filesystem::path(saved).stem().string();
  }
};

// What an item is that is no grid of trainings.
std::string item_text(const Experiment& experiment) {
  if (const auto* not_run = experiment.as<NotRunItem>()) return "not run: " + not_run->why;
  if (const auto* kernels = experiment.as<KernelItem>()) {
    return fmt::format("kernel benchmark of the {}", kernels->op);
  }
  if (const auto* study = experiment.as<StudyItem>()) return fmt::format("study {}", study->name);
  return "a picture drawn from the file; `report paper` shows it";
}

// An item that is no grid of trainings.
void sweep_item(const Experiment& experiment, const GlobalOptions& options,
                const SweepFlags& flags) {
  const std::string what = item_text(experiment);
  if (flags.dry_run) return print_item_plan(experiment, what, flags.format == "json");
  const auto say = [&](const std::string& text) {
    std::fputs(fmt::format("{}: {}\n", experiment.id, text).c_str(), stderr);
  };
  const auto* kernels = experiment.as<KernelItem>();
  const auto* study = experiment.as<StudyItem>();
  if (kernels == nullptr && study == nullptr) return say(what);
  {
    if (!flags.sweep.network_db) check_is_local(options.db);
    RunStore store = open_store(options);
    const bool again = flags.sweep.rerun.has(RunState::kFinished);
    if (!again && store.has_item_results(experiment.id)) return say("nothing left to do");
    // Another sweep may be at work on a grid of that id.
    const SweepLock at_work(options.db, experiment.id);
    store.add_experiment(experiment, options.command_line, Retire::kUnasked,
                         [&] { return at_work.others(); });
  }
  if (kernels != nullptr) {
    run_kernel_item(experiment, *kernels, options);
  } else {
    run_study_item(experiment, *study, options);
  }
  say(what + " done");
}

// The flags that say how runs are done, as words: each task of a cluster has them too.
std::vector<std::string> flags_of_tasks(const CLI::App& command) {
  std::vector<std::string> words;
  for (const auto* option : command.get_options()) {
    const std::string name = option->get_name();
    if (option->get_group() != kHowToRun || option->empty() || name == "--rerun") continue;
    if (name == "--budget") {
      throw usage_error("--budget: a task of Slurm is limited by --slurm-time; give that");
    }
    if (option->get_items_expected_max() == 0) {
      words.push_back(name);
      continue;
    }
    for (const auto& value : option->results()) {
      const bool is_path = name == "--record";
      words.push_back(name + "=" + (is_path ? std::filesystem::absolute(value).string() : value));
    }
  }
  return words;
}

void sweep_on_cluster(const Experiment& experiment, const GlobalOptions& options,
                      const SweepFlags& flags, const Submitted& submitted,
                      const CLI::App& command) {
  if (!experiment.as<Trainings>()) {
    throw usage_error("--slurm: {} is not a grid of trainings; run it here, without --slurm",
                      experiment.id);
  }
  if (flags.dry_run && flags.format == "json") {
    throw usage_error("--format: with --slurm a dry run prints scripts; leave it out");
  }
  submit_sweep(experiment, options, flags.slurm, submitted,
               {.rerun = flags.sweep.rerun,
                .jobs = flags.sweep.jobs,
                .flags = flags_of_tasks(command),
                .ranks = flags.sweep.ranks,
                .dry_run = flags.dry_run});
}

// The store at one moment, copied when it is first asked for.
class StoreThen {
 public:
  explicit StoreThen(const std::string& path) : path_(path) {}

  const Snapshot& operator()() {
    if (!snapshot_) snapshot_.emplace(Snapshot::or_empty(path_));
    return *snapshot_;
  }

 private:
  const std::string& path_;
  std::optional<Snapshot> snapshot_;
};

// Takes the learning rates of a tuned experiment from the store; returns a line for each.
std::vector<std::string> take_rates(Experiment& experiment, StoreThen& store,
                                    const DataChecksums& checksums) {
  if (!experiment.tuning) return {};
  return take_tuned_rates(experiment, store().items().held_out(), Catalogue::embedded(), checksums);
}

// On stderr, which is no part of a plan.
void say(const Experiment& experiment, const std::vector<std::string>& lines) {
  for (const auto& line : lines) {
    std::fputs(fmt::format("{}: {}\n", experiment.id, line).c_str(), stderr);
  }
}

void add_patterns(CLI::App& command, const char* flag, std::vector<std::string>& patterns,
                  const char* help) {
  command.add_option(flag, patterns, help)
      ->type_name("PATTERN")
      ->allow_extra_args(false)
      ->group("What to run");
}

// The runs that tune `experiment`, as far as the store says which are wanted.
Experiment tuning_of(const Experiment& experiment, StoreThen& store,
                     const DataChecksums& checksums) {
  if (!experiment.tuning) {
    throw usage_error("--tune: {} has no [tune] at {} scale, or a flag gives the learning rate",
                      experiment.id, name(experiment.scale));
  }
  return tuning_runs(experiment, store().items().held_out(), Catalogue::embedded(), checksums);
}

// That there is a run with a learning rate: of some without one it is said at the end of the sweep.
void check_rates(const Experiment& experiment) {
  const auto& runs = experiment.runs();
  const auto untuned = std::ranges::count(runs, kNotTuned, &PlannedRun::excluded);
  const auto tuned = std::ranges::count(runs, "", &PlannedRun::excluded);
  if (untuned == 0 || tuned > 0) return;
  throw usage_error(
      "no run has a learning rate yet ({} of {} need one): run the same with --tune first, or give "
      "--set recipe.learning_rate=RATE",
      untuned, runs.size());
}

// Adds controls by what the store has of the experiment.
void control(Experiment& experiment, const Controls& controls, StoreThen& store,
             const DataChecksums& checksums) {
  if (!controls.any()) return;
  const auto left_out = add_controls(experiment, controls, stored_rows(store(), experiment.id),
                                     Catalogue::embedded(), checksums);
  for (const auto& line : left_out) {
    std::fputs(fmt::format("no control for {}\n", line).c_str(), stderr);
  }
}

// What the file says, or the flags where there is none.
Experiment described(const SweepFlags& flags, const DataChecksums& checksums) {
  const auto& catalogue = Catalogue::embedded();
  if (!flags.file.empty())
    return load_experiment(flags.file, flags.overrides, catalogue, checksums);
  return experiment_of_flags(flags.overrides, flags.id(), catalogue, checksums);
}

// Checks that the flags describe a grid, or that a file does.
void check_described(const SweepFlags& flags) {
  if (!flags.file.empty()) {
    if (flags.saved.empty()) return;
    throw usage_error("--save: {} is a file already; --save is for a grid of flags alone",
                      printable(flags.file));
  }
  const bool chooses = !flags.patterns.only.empty() || !flags.patterns.skip.empty();
  if (!flags.saved.empty() && (chooses || !flags.controls.empty())) {
    throw usage_error("--save: a file has no --only, --skip or --controls; leave them out");
  }
  const auto& given = flags.overrides;
  if (given.axes.empty() && given.set.empty()) throw usage_error("SPEC is missing: {}", kSpec);
  if (given.scale != Scale::kFull) {
    throw usage_error("--scale: only a file has scales, and SPEC is missing");
  }
  for (const char* needed : {"network", "dataset", "method"}) {
    const auto is_it = [&](const auto& pair) { return pair.first == needed; };
    if (std::ranges::any_of(given.axes, is_it) || std::ranges::any_of(given.set, is_it)) continue;
    throw usage_error("--{} is missing; see approxtrain list {}s, or name an experiment file",
                      needed, needed);
  }
}

// Writes the file that the flags stand for. It must plan what they plan: a file elsewhere may find
// another recipe of a name.
void save(const SweepFlags& flags, const Experiment& described, const DataChecksums& checksums) {
  if (flags.saved.empty()) return;
  const std::filesystem::path path = flags.saved;
  const auto& text = described.text;
  std::error_code error;
  if (std::filesystem::exists(path, error) && read_toml_file(path) != text) {
    throw usage_error("--save: {} is there with another text; delete it or choose another name",
                      printable(flags.saved));
  }
  const auto read = [&] {
    try {
      return parse_experiment(text, flags.saved, {}, Catalogue::embedded(), checksums);
    } catch (const Error& wrong) {
      throw wrong.in("--save");
    }
  }();
  if (!std::ranges::equal(read.runs(), described.runs(), {}, &PlannedRun::key, &PlannedRun::key)) {
    throw usage_error("--save: beside {} is another recipe of this name; save it elsewhere",
                      printable(flags.saved));
  }
  write_output(flags.saved, text);
  std::fputs(fmt::format("{}: saved; `approxtrain sweep {}` is this sweep\n", described.id,
                         shell_word(flags.saved))
                 .c_str(),
             stderr);
}

// What the file and the flags ask for: controls are runs like others, so patterns choose last.
Experiment planned(const SweepFlags& flags, const GlobalOptions& options, StoreThen& store,
                   const DataChecksums& checksums) {
  Experiment experiment = described(flags, checksums);
  save(flags, experiment, checksums);
  const auto controls = flags.controls.empty() ? Controls() : parse_controls(flags.controls);
  control(experiment, controls.own_rows(), store, checksums);
  std::vector<std::string> rates;
  if (flags.tune) {
    experiment = tuning_of(experiment, store, checksums);
  } else {
    rates = take_rates(experiment, store, checksums);
    control(experiment, controls.by_exact_rows(), store, checksums);
  }
  choose_runs(experiment, flags.patterns);
  exclude_unserved(experiment);
  if (!flags.dry_run) check_rates(experiment);
  say(experiment, rates);
  if (auto* trainings = std::get_if<Trainings>(&experiment.work)) {
    say(experiment, idle_lines(trainings->runs));
    keep_stored_keys(trainings->runs, options.db);
  }
  return experiment;
}

// Goes on with the rates beyond those of `tuned`, whose sweep ended with `code`, as long as all
// went well and an arm asks for more; then says which rate each arm has. Returns the last sweep's
// code.
int tune_further(const SweepFlags& flags, const GlobalOptions& options, const Experiment& tuned,
                 int code, const DataChecksums& checksums) {
  for (size_t known = tuned.runs().size(); code == 0;) {
    StoreThen store(options.db);
    const Experiment wider = planned(flags, options, store, checksums);
    if (wider.runs().size() <= known) break;
    known = wider.runs().size();
    code = finish_sweep(wider, run_experiment(wider, options, flags.sweep));
  }
  auto experiment = described(flags, checksums);
  StoreThen ended(options.db);
  say(experiment, take_rates(experiment, ended, checksums));
  return code;
}

}  // namespace

void add_sweep(CLI::App& app, GlobalOptions& options) {
  auto* command =
      app.add_subcommand("sweep", "Run what an experiment asks for and the database lacks");
  command->footer(
      "approxtrain sweep @wang2019:table5 --dry-run\n"
      "approxtrain sweep table.toml --seeds 0-9 --method dense,zero\n"
      "approxtrain sweep --network resnet20 --dataset cifar10 --seeds 0-5 \\\n"
      "  --method dense --method topk_crs:ratio=0.1-0.9+0.2 --save grid.toml");
  auto flags = std::make_shared<SweepFlags>();
  command->add_option("SPEC", flags->file, kSpec);
  command->require_subcommand(0, 1);
  add_sweep_status(*command, options);
  add_sweep_task(*command, options);
  add_axis_flags(*command, flags->overrides, /*lists=*/true);
  command
      ->add_option("--save", flags->saved,
                   "without SPEC: write the experiment file that the flags stand for")
      ->type_name("FILE")
      ->group("What to run");
  add_python_flags(*command, flags->python, "What to run");
  add_sweep_flags(*command, flags->sweep);
  add_jobs_flags(*command, flags->sweep);
  add_slurm_flags(*command, flags->slurm);
  add_patterns(*command, "--only", flags->patterns.only,
               "run only the runs whose name matches this regular expression (as of grep -E). A "
               "name is method=LABEL schedule=LABEL network=LABEL dataset=NAME purpose=NAME "
               "seed=N, and then settings that differ. --dry-run --format json shows the names. "
               "May be repeated: one of them must match");
  add_patterns(*command, "--skip", flags->patterns.skip,
               "leave out the runs whose name matches this regular expression");
  command
      ->add_option("--controls", flags->controls,
                   "add what a method must beat. `iso-time`: exact training that is shorter by the "
                   "method's speedup in the database. `random`: a random choice of the same "
                   "density. `smaller-net=NETWORK`: exact training of a smaller network")
      ->type_name("CONTROL,...")
      ->group("What to run");
  command
      ->add_flag("--tune", flags->tune,
                 "find the learning rate of each row on held-out images, as the file's [tune] "
                 "says. Rates are halved or doubled until the best one is enclosed. A sweep "
                 "without --tune then takes the best rates")
      ->group("What to run");
  command
      ->add_flag(
          "--stop-at-target", flags->overrides.stop_at_target,
          "end accuracy runs at the first evaluation that reaches the file's target. They count as "
          "other runs than whole trainings: they have a time to the target, and no accuracy")
      ->group("What to run");
  auto* dry_run =
      command->add_flag("--dry-run", flags->dry_run, "show the runs; start and write nothing");
  add_choice(*command, "--format", flags->format, {"md", "json"},
             "format of --dry-run (default md)")
      ->needs(dry_run);
  command->callback([flags, command, &options] {
    if (!command->get_subcommands().empty()) return;
    check_described(*flags);
    if (flags->slurm.on && !flags->python.file.empty()) {
      throw usage_error("--python: the tasks of --slurm have no methods in Python; run it here");
    }
    use_python(flags->python);
    Submitted submitted;  // before anything is planned by what the database has
    if (flags->slurm.on) submitted = look_at_submissions(options.db, flags->dry_run);
    // A plan may be looked at without the data: those that the store's runs were made with stand
    // in.
    auto store = std::make_unique<StoreThen>(options.db);
    const auto checksums = dataset_checksums(
        options.data_dir, flags->dry_run ? (*store)().items().checksums() : DataChecksums());
    const Experiment experiment = planned(*flags, options, *store, checksums);
    store.reset();  // a sweep is long
    take_table(flags->slurm, experiment.slurm);
    // Where nothing can be done a plan is shown all the same: it has every reason.
    const bool only_plan = flags->dry_run && !flags->slurm.on && experiment.as<Trainings>();
    if (only_plan) print_plan(experiment, options.db, flags->sweep, flags->format == "json");
    check_any_possible(experiment);
    if (only_plan) return;
    if (flags->sweep.require_clean && !flags->dry_run) {
      require_clean(experiment.files);
    }
    if (flags->slurm.on) return sweep_on_cluster(experiment, options, *flags, submitted, *command);
    if (!experiment.as<Trainings>()) return sweep_item(experiment, options, *flags);
    const SweepResult result = run_experiment(experiment, options, flags->sweep);
    int code = finish_sweep(experiment, result);
    if (flags->tune) code = tune_further(*flags, options, experiment, code, checksums);
    if (code != 0) throw Exit{code};
  });
}

}  // namespace approx
