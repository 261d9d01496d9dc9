#include "core/config/run_config.h"

#include <functional>

#include "base/digest.h"
#include "base/error.h"
#include "base/text.h"
#include "core/config/settings.h"
#include "products/rules.h"

namespace approx {
namespace {

const std::vector<Setting<RunConfig>>& run_settings() {
  using C = RunConfig;
  static const std::vector<Setting<C>> settings = {
      text_setting("network", &C::network, "name:key=value,..."),
      text_setting("dataset", &C::dataset, "name"),
      choice_setting("split", &C::split, "images that judge choices"),
      number_setting("train_examples", &C::train_examples, "number of training images, 0 for all",
                     0, 1e9),
      choice_setting("train_subset", &C::train_subset,
                     "whether each seed has its own, or all share them")
          .late(),
      text_setting("method", &C::method, "name:key=value,..."),
      number_setting("seed", &C::seed, "seed of weights, order, augmentation and methods", 0,
                     4294967295.0),
      number_setting("batch_size", &C::batch_size, "images a step", 1, 65536),
      choice_setting("precision", &C::precision, "arithmetic of the products"),
      number_setting("threads", &C::threads, "CPU threads, 0 until resolved", 0, 4096),
      choice_setting("device", &C::device, "where it runs"),
      number_setting("blocks", &C::blocks, "timing: pairs of blocks", 1, 100'000),
      number_setting("block_steps", &C::block_steps, "timing: steps in a block, in whole periods",
                     1, 1'000'000),
      text_setting("timed_against", &C::timed_against,
                   "timing, dense: another network whose exact training is compared")
          .late(),
      choice_setting("operators", &C::operators,
                     "dense: the fastest at hand, or LibTorch's own alone")
          .late(),
      number_setting("stop_at", &C::stop_at,
                     "accuracy: ends at the first evaluation that reaches this share, 0: never", 0,
                     1)
          .late(),
      number_setting("patience", &C::patience,
                     "accuracy: ends this many epochs after the best evaluation, 0: never", 0,
                     1'000'000)
          .late(),
      number_setting("ranks", &C::ranks, "processes that train the network together", 1, 4096)
          .late(),
      choice_setting(
          "norm_statistics", &C::norm_statistics,
          "several ranks: whether batch norms see their own images or those of all ranks")
          .late(),
      text_setting("selection", &C::selection,
                   "batch source, name:key=value,...: the examples of a step; none: all")
          .late(),
      choice_setting("graphs", &C::graphs, "cuda: whether steps are captured and replayed").late(),
      text_setting("kernel_rules", &C::kernel_rules,
                   "a table by which approximated kernels are chosen")
          .late()};
  return settings;
}

// "layers=2::4 until=0.5dur + layers=19 method=dense": of each rule what is not the default.
std::string rules_text(const std::vector<Rule>& rules) {
  const Json defaults = Rule();
  std::vector<std::string> texts;
  for (const auto& rule : rules) {
    std::vector<std::string> parts;
    const Json json = rule;
    for (const auto& [key, value] : json.items()) {
      if (defaults.contains(key) && value == defaults[key]) continue;
      parts.push_back(
          fmt::format("{}={}", key, value.is_string() ? value.get<std::string>() : value.dump()));
    }
    texts.push_back(parts.empty() ? "any layer" : fmt::format("{}", fmt::join(parts, " ")));
  }
  return fmt::format("{}", fmt::join(texts, " + "));
}

void check_selection(const RunConfig& config) {
  if (config.selection.empty()) return;
  if (config.ranks > 1) {
    throw usage_error(
        "selection = {} needs ranks = 1: each rank would remember its own examples alone",
        config.selection);
  }
  if (!config.timed_against.empty() || config.operators == OperatorSet::kLibrary) {
    throw usage_error(
        "selection = {} is already timed against exact training; leave out timed_against and "
        "operators",
        config.selection);
  }
}

// Whether an evaluation before the last can be so long after the best one. The first evaluation is
// always the best so far.
bool patience_may_end(int64_t patience, const Recipe& recipe) {
  const int64_t every = recipe.eval_every;
  const int64_t evaluations = 1 + (patience + every - 1) / every;
  return patience > 0 && evaluations * every < recipe.epochs;
}

}  // namespace

bool takes_part(const RunConfig& config, std::string_view setting) {
  const bool timing = config.purpose == Purpose::kTiming;
  if (setting == "blocks" || setting == "block_steps" || setting == "timed_against") return timing;
  if (setting == "stop_at") return !timing;
  if (setting == "patience") return !timing && patience_may_end(config.patience, config.recipe);
  if (setting == "train_subset") return config.train_examples > 0;
  if (setting == "norm_statistics") return config.ranks > 1;
  if (setting == "graphs") return has_no_graphs(config);
  return true;
}

bool may_end_early(const RunConfig& config) {
  return config.purpose == Purpose::kAccuracy &&
         (config.stop_at > 0 || takes_part(config, "patience"));
}

Purpose parse_purpose(std::string_view text) {
  if (const auto purpose = find_named<Purpose>(text)) return *purpose;
  throw usage_error("unknown purpose \"{}\"{}; expected accuracy or timing", text,
                    did_you_mean(text, names_of_enum<Purpose>()));
}

std::vector<ParamSpec> run_specs() { return specs_of(run_settings()); }

bool needs_cuda(Precision precision) {
  switch (precision) {
    case Precision::kFp32:
    case Precision::kBf16:
      return false;
    case Precision::kTf32:
    case Precision::kFp16:
      return true;
  }
  return false;
}

void check_precision(Precision precision, DeviceKind device) {
  if (device == DeviceKind::kCpu && needs_cuda(precision)) {
    throw usage_error("precision = {} needs device = cuda; cpu computes in fp32 or bf16",
                      name(precision));
  }
}

void check(const RunConfig& config) {
  check(config.recipe);
  check_precision(config.precision, config.device);
  if (!config.timed_against.empty() && !is_dense(config.method)) {
    throw usage_error(
        "timed_against compares exact trainings, and method = {} is already compared with the "
        "exact training of its network; leave it out",
        config.method);
  }
  if (config.operators == OperatorSet::kLibrary && !is_dense(config.method)) {
    throw usage_error(
        "operators = library uses LibTorch's operators, and method = {} needs this program's: set "
        "method = dense or operators = best",
        config.method);
  }
  if (config.operators == OperatorSet::kLibrary && !config.timed_against.empty()) {
    throw usage_error(
        "timed_against and operators = library exclude each other: a timing compares exact "
        "training with one thing; leave one out");
  }
  check_selection(config);
  if (config.batch_size % config.ranks != 0) {
    throw usage_error(
        "ranks = {} does not divide batch_size = {}: each rank needs equally many images of a step",
        config.ranks, config.batch_size);
  }
  if (config.ranks > 1 && config.norm_statistics == NormScope::kSynchronised &&
      config.operators == OperatorSet::kLibrary) {
    throw usage_error(
        "norm_statistics = synchronised needs this program's operators: set operators = best or "
        "norm_statistics = local");
  }
  if (const int64_t ghost = config.recipe.ghost_batch; ghost > 0) {
    const int64_t own = config.batch_size / config.ranks;
    if (ghost >= own) {
      throw usage_error(
          "recipe.ghost_batch = {} must be below the {} images that a norm sees in a step "
          "(batch_size / ranks), or 0 for all of them",
          ghost, own);
    }
    if (config.ranks > 1 && config.norm_statistics == NormScope::kSynchronised) {
      throw usage_error(
          "norm_statistics = synchronised and recipe.ghost_batch = {} exclude each other: set "
          "norm_statistics = local or ghost_batch = 0",
          ghost);
    }
  }
  if (config.graphs == GraphUse::kOn && config.device == DeviceKind::kCpu) {
    throw usage_error("graphs = on needs device = cuda: steps on a CPU are not captured");
  }
  if (!config.kernel_rules.empty()) KernelRules(config.kernel_rules, "kernel_rules");
  if (const auto reason = why_untimed(config); !reason.empty()) throw usage_error("{}", reason);
}

std::string why_untimed(const RunConfig& config) {
  if (config.purpose != Purpose::kTiming || is_dense(config.method)) return "";
  for (const auto& rule : config.schedule) {
    const auto window = window_text(rule);
    if (window.empty()) continue;
    return fmt::format(
        "a timing run is too short to reach where the rule of layers = {} begins or ends ({}); "
        "time the rule without that",
        quote(rule.layers), window);
  }
  return "";
}

std::string arm_text(std::string_view method, std::string_view selection) {
  if (selection.empty()) return std::string(method);
  if (is_dense(method)) return std::string(selection);
  return fmt::format("{}, {}", method, selection);
}

std::string untimed_selection(std::string_view selection) {
  return fmt::format(
      "a timing run is too short for selection = {}, which keeps everything in the first epoch. "
      "Compare the seconds of trainings, time random_subset, or give the experiment exact_lengths",
      selection);
}

std::string kernel_rules_id(std::string_view text, int64_t builtin_version) {
  if (!text.empty()) return "sha256:" + sha256_hex(text);
  return builtin_version > 1 ? fmt::format("builtin-{}", builtin_version) : "";
}

int64_t kernel_rules_version() { return builtin_kernel_rules().version(); }

std::string kernel_rules_label(std::string_view text) {
  return text.empty() ? "" : sha256_hex(text).substr(0, 12);
}

std::vector<SettingText> settings_in_effect(const RunConfig& config) {
  std::vector<SettingText> found;
  const auto add = [&found](const auto& specs, const Json& values, const auto& has_part) {
    for (const auto& spec : specs) {
      if (!has_part(spec.name)) continue;
      const Json& value = values.at(spec.name);
      found.emplace_back(spec.name, value.is_string() ? value.get<std::string>() : value.dump());
    }
  };
  Json scalars = scalar_settings(config);
  scalars["kernel_rules"] = kernel_rules_label(config.kernel_rules);
  add(run_specs(), scalars, [&](std::string_view name) {
    if (name == "seed" || name == "threads" || !takes_part(config, name)) return false;
    // Settings that came later are not named at their defaults.
    if (name == "timed_against") return !config.timed_against.empty();
    if (name == "operators") return config.operators != RunConfig().operators;
    if (name == "ranks") return config.ranks > 1;
    if (name == "stop_at") return config.stop_at > 0;
    if (name == "selection") return !config.selection.empty();
    if (name == "kernel_rules") return !config.kernel_rules.empty();
    return true;
  });
  if (!is_dense(config.method)) found.emplace_back("schedule", rules_text(config.schedule));
  add(recipe_specs(), every_setting(config.recipe),
      [&](std::string_view name) { return takes_part(config.recipe, name); });
  return found;
}

void to_json(Json& json, const RunConfig& config) {
  json = settings_to_json(config, run_settings());
  json["purpose"] = config.purpose;
  json["schedule"] = config.schedule;
  json["recipe"] = config.recipe;
}

void from_json(const Json& json, RunConfig& config) {
  if (!json.is_object()) throw usage_error("run: expected an object, got {}", json.type_name());
  Json scalars = Json::object();
  for (const auto& [key, value] : json.items()) {
    if (key == "purpose") {
      if (!value.is_string()) throw usage_error("run: purpose: expected a text");
      config.purpose = parse_purpose(value.get_ref<const std::string&>());
    } else if (key == "schedule") {
      if (!value.is_array()) throw usage_error("run: schedule: expected a list of rules");
      config.schedule = value.get<std::vector<Rule>>();
    } else if (key == "recipe") {
      from_json(value, config.recipe);
    } else {
      scalars[key] = value;
    }
  }
  settings_from_json(scalars, config, run_settings(), "run");
}

Json scalar_settings(const RunConfig& config) {
  return settings_to_json(config, run_settings(), /*late_too=*/true);
}

}  // namespace approx
