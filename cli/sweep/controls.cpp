#include "cli/sweep/controls.h"

#include <algorithm>
#include <set>

#include "base/error.h"
#include "base/numbers.h"
#include "cli/text.h"
#include "core/config/dense.h"
#include "core/experiment/iso_time.h"
#include "results/rows/notes.h"
#include "results/stats/stats.h"

namespace approx {
namespace {

constexpr const char* kKnownControls = "iso-time, random, smaller-net=NETWORK";

std::optional<double> find_in(const std::map<LabelKey, double>& map, const PlannedRun& run) {
  const auto found = map.find(run.labels());
  return found == map.end() ? std::nullopt : std::optional(found->second);
}

// Makes the controls of an experiment; what cannot have one is said once.
class ControlMaker {
 public:
  ControlMaker(const Experiment& experiment, const Controls& controls, const StoredRows& stored,
               const Catalogue& catalogue,
               const std::function<std::string(const std::string&)>& checksum)
      : controls_(controls),
        stored_(stored),
        catalogue_(catalogue),
        checksum_(checksum),
        is_tuned_(experiment.tuning.has_value()) {
    for (const auto& run : experiment.runs()) {
      keys_.insert(run.key);
      if (is_exact(run.config) && run.excluded.empty()) exact_.push_back(&run);
    }
  }

  void add_for(const PlannedRun& run) {
    if (!run.excluded.empty() || run.is_control) return;
    if (is_exact(run.config)) {
      if (run.shortened_from) return;  // a smaller network stands beside the whole training alone
      if (!controls_.smaller_net.empty()) add_smaller_net(run);
      return;
    }
    if (controls_.random) add_random(run);
    if (controls_.iso_time && run.config.purpose == Purpose::kAccuracy) add_iso_time(run);
  }

  std::vector<PlannedRun> runs;
  std::vector<std::string> left_out;

 private:
  void add(PlannedRun run) {
    run.is_control = true;
    set_keys(run, checksum_(run.config.dataset), catalogue_);
    if (keys_.insert(run.key).second) runs.push_back(std::move(run));
  }

  void say(const PlannedRun& run, const std::string& why) {
    const std::string what =
        fmt::format("{} on {}: {}", row_text(run.labels()), run.network_label, why);
    if (said_.insert(what).second) left_out.push_back(what);
  }

  void add_smaller_net(const PlannedRun& run) {
    PlannedRun control = run;
    control.config.network = catalogue_.network_params(controls_.smaller_net).full_text();
    if (control.config.network == run.config.network) return;
    control.config.operators = OperatorSet::kBest;
    control.network_label = controls_.smaller_net;
    control.method_label = "a smaller network, exactly";
    if (run.config.purpose == Purpose::kTiming) control.config.timed_against = run.config.network;
    add(std::move(control));
  }

  void add_iso_time(const PlannedRun& run) {
    const PlannedRun* exact = exact_beside(run);
    if (exact == nullptr && is_tuned_) {
      return say(run,
                 "the exact training beside it, whose learning rate it has, is not in this "
                 "sweep");
    }
    const Recipe& recipe = exact == nullptr ? run.config.recipe : exact->config.recipe;
    if (is_prefix_of_longer(recipe)) {
      return say(run,
                 "under a constant learning rate `report advice` reads it from the dense runs' "
                 "own curves");
    }
    if (const auto& text = run.config.selection;
        !text.empty() && catalogue_.selection(parse_spec(text).name).after_an_epoch) {
      return say(run, untimed_selection(text));
    }
    const auto speedup = find_in(stored_.speedups, run);
    if (!speedup && stored_.disturbed.contains(run.labels())) {
      return say(run, kTimingsDisturbed);
    }
    if (const auto few = stored_.timed_in_few.find(run.labels());
        !speedup && few != stored_.timed_in_few.end()) {
      return say(run, fmt::format("its speed was timed in {} {}, a control needs {}; sweep with "
                                  "--purpose timing --set timing_seeds=0-{} first",
                                  few->second, few->second == 1 ? "process" : "processes",
                                  kProcessesForATiming, kProcessesForATiming - 1));
    }
    if (!speedup) {
      return say(run, "no timing run in the store yet; sweep with --purpose timing first");
    }
    if (*speedup <= 1) {
      return say(run, fmt::format("its speedup may be {:.2f}x, which saves no time", *speedup));
    }
    PlannedRun control = run;
    control.config.method = kDense;
    control.config.schedule.clear();
    control.config.selection.clear();
    control.schedule_label.clear();
    const auto steps = stored_.steps_per_epoch.find(run.labels());
    control.config.recipe =
        shortened(recipe, 1 / *speedup, steps == stored_.steps_per_epoch.end() ? 0 : steps->second);
    control.config.stop_at = 0;  // what it reaches in that time is what is asked
    control.config.patience = 0;
    control.method_label = std::string(kIsoTimePrefix) + row_text(run.labels());
    add(std::move(control));
  }

  // The exact training that differs from a run in method, selection and learning rate alone, as
  // each is tuned.
  const PlannedRun* exact_beside(const PlannedRun& run) const {
    const auto beside = [&](const PlannedRun* exact) {
      RunConfig config = exact->config;
      config.method = run.config.method;
      config.schedule = run.config.schedule;
      config.selection = run.config.selection;
      config.recipe.learning_rate = run.config.recipe.learning_rate;
      return config == run.config;
    };
    const auto found = std::find_if(exact_.begin(), exact_.end(), beside);
    return found == exact_.end() ? nullptr : *found;
  }

  void add_random(const PlannedRun& run) {
    if (!run.config.selection.empty()) {
      return say(run, "name random_subset of its size beside it, in selection");
    }
    if (const auto why = why_rules_stay(run.config); !why.empty()) return say(run, why);
    const RandomTwin twin =
        random_twin(run.config.method, find_in(stored_.densities, run), catalogue_);
    if (twin.method.empty()) return say(run, twin.why_none);
    PlannedRun control = run;
    control.config.method = twin.method;
    control.method_label = "random in place of " + run.method_label;
    add(std::move(control));
  }

  // Why the twin of a run would still choose by looking, in some of its rules; "" where it would
  // not.
  std::string why_rules_stay(const RunConfig& config) const {
    if (is_mixed(parse_spec(config.method).name)) {
      return "its rules name methods of their own, which a control does not replace";
    }
    for (const auto& rule : config.schedule) {
      if (rule.method.empty()) continue;
      const auto& named = catalogue_.method(parse_spec(rule.method).name);
      if (named.random_twin.empty()) continue;
      return fmt::format("a rule names {} of its own, which a control does not replace",
                         rule.method);
    }
    return "";
  }

  const Controls& controls_;
  const StoredRows& stored_;
  const Catalogue& catalogue_;
  const std::function<std::string(const std::string&)>& checksum_;
  const bool is_tuned_;
  std::vector<const PlannedRun*> exact_;
  std::set<std::string> said_, keys_;
};

}  // namespace

Controls parse_controls(const std::string& text) {
  Controls controls;
  for (const auto& piece : split_list(text)) {
    constexpr std::string_view kSmaller = "smaller-net";
    if (piece == "iso-time") {
      controls.iso_time = true;
    } else if (piece == "random") {
      controls.random = true;
    } else if (piece.starts_with(kSmaller) && piece.size() > kSmaller.size() + 1 &&
               piece[kSmaller.size()] == '=') {
      controls.smaller_net = piece.substr(kSmaller.size() + 1);
    } else {
      throw usage_error("--controls: unknown control \"{}\"; known: {}", printable(piece),
                        kKnownControls);
    }
  }
  if (!controls.iso_time && !controls.random && controls.smaller_net.empty()) {
    throw usage_error("--controls: an empty value; known: {}", kKnownControls);
  }
  return controls;
}

RandomTwin random_twin(const std::string& method, std::optional<double> density,
                       const Catalogue& catalogue) {
  const MethodInfo& info = catalogue.method(parse_spec(method).name);
  if (info.random_twin.empty()) return {.why_none = "it chooses nothing by looking at the data"};
  Spec twin = parse_spec(info.random_twin);
  const auto has = [](const Spec& spec, const std::string& name) {
    return std::any_of(spec.arguments.begin(), spec.arguments.end(),
                       [&](const auto& argument) { return argument.first == name; });
  };
  const Spec given = parse_spec(catalogue.method_params(method).full_text());
  bool by_density = info.twin_by_density;
  for (const auto& [name, value] : given.arguments) {
    if (name == "share") by_density |= parse_real(value).value_or(0) > 0;
  }
  if (by_density && !density) {
    return {.why_none =
                "how much it keeps follows from the data, and no run in the store says it "
                "yet; sweep without --controls random first"};
  }
  if (by_density) twin.arguments.emplace_back("ratio", shortest(*density));
  const auto& declared = catalogue.method(twin.name).params;
  for (const auto& spec : declared) {
    if (has(twin, spec.name) || spec.name == "share") continue;
    for (const auto& argument : given.arguments) {
      if (argument.first == spec.name) twin.arguments.push_back(argument);
    }
  }
  // To a twin with a `k` a ratio of 0 says to go by that, and not to keep next to nothing.
  const bool has_k = std::any_of(declared.begin(), declared.end(),
                                 [](const ParamSpec& spec) { return spec.name == "k"; });
  const bool goes_by_ratio = by_density || !has(given, "k");
  for (const auto& [name, value] : twin.arguments) {
    if (name != "ratio" || !has_k || !goes_by_ratio || parse_real(value).value_or(0) > 0) continue;
    return {.why_none = fmt::format("the share it keeps is 0, at which {} goes by a k of its own",
                                    twin.name)};
  }
  return {.method = Params(declared, twin).to_string()};
}

std::vector<std::string> add_controls(
    Experiment& experiment, const Controls& controls, const StoredRows& stored,
    const Catalogue& catalogue, const std::function<std::string(const std::string&)>& checksum) {
  ControlMaker maker(experiment, controls, stored, catalogue, checksum);
  for (const auto& run : experiment.runs()) maker.add_for(run);
  if (auto* trainings = std::get_if<Trainings>(&experiment.work)) {
    trainings->runs.insert(trainings->runs.end(), std::make_move_iterator(maker.runs.begin()),
                           std::make_move_iterator(maker.runs.end()));
  }
  return maker.left_out;
}

}  // namespace approx
