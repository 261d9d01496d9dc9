#include "core/config/run_config.h"

#include <algorithm>
#include <functional>
#include <memory>
#include <type_traits>

#include "base/digest.h"
#include "base/error.h"
#include "base/range.h"

namespace approx {
namespace {

// Raised when the trainer or what it records changes so that equal settings give other results.
constexpr int64_t kResultFormat = 2;

template <typename Owner>
using Member = std::variant<bool Owner::*, int64_t Owner::*, double Owner::*, std::string Owner::*,
                            std::vector<int64_t> Owner::*>;

// One setting: its declaration and where it lives. The default is that of the struct itself. A list
// of integers travels as a text, such as "60,120,160".
template <typename Owner>
struct Field {
  ParamSpec spec;
  Member<Owner> member;
};

template <typename Owner, typename T>
Field<Owner> field(const char* name, T Owner::*member, const char* help, double min, double max) {
  return {{name, Value(Owner().*member), help, min, max, {}}, member};
}

template <typename Owner>
Field<Owner> flag(const char* name, bool Owner::*member, const char* help) {
  ParamSpec spec;
  spec.name = name;
  spec.fallback = Owner().*member;
  spec.help = help;
  return {spec, member};
}

template <typename Owner>
Field<Owner> text(const char* name, std::string Owner::*member, const char* help,
                  std::vector<std::string> choices = {}) {
  ParamSpec spec;
  spec.name = name;
  spec.fallback = Owner().*member;
  spec.help = help;
  spec.choices = std::move(choices);
  return {spec, member};
}

template <typename Owner>
Field<Owner> list(const char* name, std::vector<int64_t> Owner::*member, const char* help) {
  ParamSpec spec;
  spec.name = name;
  spec.fallback = std::string();
  spec.help = help;
  return {spec, member};
}

const std::vector<Field<Recipe>>& recipe_fields() {
  using R = Recipe;
  static const std::vector<Field<R>> fields = {
      text("optimizer", &R::optimizer, "update rule", {"sgd", "adam"}),
      field("learning_rate", &R::learning_rate, "peak of the learning-rate schedule", 1e-10, 1000),
      field("momentum", &R::momentum, "sgd", 0, 0.99999),
      flag("nesterov", &R::nesterov, "sgd: Nesterov's momentum"),
      field("weight_decay", &R::weight_decay, "L2, added to the gradient", 0, 10),
      flag("decay_norm", &R::decay_norm, "weight decay of biases and scales of norms too"),
      field("beta1", &R::beta1, "adam", 0, 0.99999),
      field("beta2", &R::beta2, "adam", 0, 0.9999999),
      field("epsilon", &R::epsilon, "adam", 1e-20, 1),
      field("clip_norm", &R::clip_norm, "largest norm of the gradient, 0 for any", 0, 1e9),
      field("ema", &R::ema, "decay of averaged weights a step, 0 for none", 0, 0.9999999),

      text("lr_schedule", &R::lr_schedule, "how the learning rate moves",
           {"constant", "exponential", "step", "milestones", "cosine", "onecycle", "triangular"}),
      field("decay", &R::decay, "exponential, step, milestones: factor", 1e-6, 1),
      field("decay_epochs", &R::decay_epochs, "step: epochs between two factors", 1, 100'000),
      list("milestones", &R::milestones, "milestones: epochs before which a factor comes"),
      field("peak_epoch", &R::peak_epoch, "triangular: epochs that rise", 0, 100'000),
      field("warmup", &R::warmup, "onecycle: share of the steps that rise", 0, 1),
      field("warmup_epochs", &R::warmup_epochs, "epochs of a linear rise before", 0, 100'000),

      field("epochs", &R::epochs, "passes over the training part", 1, 100'000),
      field("eval_every", &R::eval_every, "epochs between evaluations", 1, 100'000),
      field("label_smoothing", &R::label_smoothing, "share given to all classes", 0, 0.99),

      field("crop_padding", &R::crop_padding, "random crop: pixels added on each side", 0, 64),
      text("padding_mode", &R::padding_mode, "random crop: what is added", {"zero", "reflect"}),
      flag("flip", &R::flip, "mirror half of the images"),
      field("cutout", &R::cutout, "side of the square that is blanked, 0 for none", 0, 256),

      flag("test_flip", &R::test_flip, "evaluation: average over the mirror image"),

      text("crop", &R::crop, "how a training image is cut", {"padded", "random_resized"}),
      field("crop_scale_min", &R::crop_scale_min, "random_resized: least share of the area", 1e-4,
            1),
      field("crop_scale_max", &R::crop_scale_max, "random_resized: largest share of the area", 1e-4,
            1),
      field("crop_ratio_min", &R::crop_ratio_min,
            "random_resized: least width to height; the largest is its inverse", 0.01, 1),
      field("image_size", &R::image_size, "photographs: side in training, 0 for the data set's own",
            0, 4096),
      field("eval_size", &R::eval_size, "photographs: side in evaluation, 0 as in training", 0,
            4096),
      field("start_size", &R::start_size, "photographs: side in the first epochs, 0 as later", 0,
            4096),
      field("grow_from", &R::grow_from, "photographs: epoch from which start_size grows", 0,
            100'000),
      field("grow_until", &R::grow_until, "photographs: epoch from which it is image_size", 0,
            100'000)};
  return fields;
}

const std::vector<Field<RunConfig>>& run_fields() {
  using C = RunConfig;
  static const std::vector<Field<C>> fields = {
      text("network", &C::network, "name:key=value,..."),
      text("dataset", &C::dataset, "name"),
      text("split", &C::split, "what judges choices", {"holdout", "paper"}),
      field("train_examples", &C::train_examples, "first so many training images, 0 for all", 0,
            1e9),
      text("method", &C::method, "name:key=value,..."),
      field("seed", &C::seed, "of weights, order, augmentation and methods", 0, 4294967295.0),
      field("batch_size", &C::batch_size, "images a step", 1, 65536),
      text("precision", &C::precision, "arithmetic of the products",
           {"fp32", "tf32", "bf16", "fp16"}),
      field("threads", &C::threads, "CPU threads, 0 until resolved", 0, 4096),
      text("device", &C::device, "where it runs", {"cpu", "cuda"}),
      field("blocks", &C::blocks, "timing: pairs of blocks", 1, 100'000),
      field("block_steps", &C::block_steps, "timing: steps in a block, in whole periods", 1,
            1'000'000),
      text("timed_against", &C::timed_against,
           "timing, dense: another network that the times are held against")};
  return fields;
}

template <typename Owner>
std::vector<ParamSpec> specs_of(const std::vector<Field<Owner>>& fields) {
  std::vector<ParamSpec> specs;
  for (const auto& field : fields) specs.push_back(field.spec);
  return specs;
}

template <typename T>
Json json_of(const T& value) {
  if constexpr (std::is_same_v<T, std::vector<int64_t>>) {
    return fmt::format("{}", fmt::join(value, ","));
  } else {
    return value;
  }
}

template <typename Owner>
void fields_to_json(Json& json, const Owner& owner, const std::vector<Field<Owner>>& fields) {
  for (const auto& field : fields) {
    json[field.spec.name] =
        std::visit([&owner](auto member) { return json_of(owner.*member); }, field.member);
  }
}

// Reads the scalar members of `owner` that `json` has. Values travel as text through Params, so
// that types, ranges, choices and unknown names are judged, and worded, in one place.
template <typename Owner>
void fields_from_json(const Json& json, Owner& owner, const std::vector<Field<Owner>>& fields,
                      const std::string& what) {
  if (!json.is_object()) throw usage_error("{}: expected a table, got {}", what, json.type_name());
  Spec given{what, {}};
  for (const auto& [key, value] : json.items()) {
    const auto found = std::find_if(fields.begin(), fields.end(), [&key = key](const auto& field) {
      return field.spec.name == key;
    });
    const bool wants_text =
        found != fields.end() && std::holds_alternative<std::string>(found->spec.fallback);
    if (found != fields.end() && value.is_string() != wants_text) {
      const bool wants_flag = std::holds_alternative<bool>(found->spec.fallback);
      throw usage_error("{}: {}: expected {}, got {}", what, key,
                        wants_text   ? "a text"
                        : wants_flag ? "true or false"
                                     : "a number",
                        value.dump());
    }
    if (found != fields.end() && value.is_number_float() &&
        std::holds_alternative<int64_t>(found->spec.fallback)) {
      throw usage_error("{}: {}={}: expected an integer", what, key, value.dump());
    }
    if (value.is_string()) {
      given.arguments.emplace_back(key, value.template get<std::string>());
    } else if (value.is_number_float()) {
      given.arguments.emplace_back(key, shortest(value.template get<double>()));
    } else {
      given.arguments.emplace_back(key, value.dump());
    }
  }
  const Params params(specs_of(fields), given);
  for (const auto& field : fields) {
    if (!json.contains(field.spec.name)) continue;
    const std::string& name = field.spec.name;
    if (const auto* member = std::get_if<bool Owner::*>(&field.member)) {
      owner.** member = params.flag(name);
    } else if (const auto* member = std::get_if<int64_t Owner::*>(&field.member)) {
      owner.** member = params.integer(name);
    } else if (const auto* member = std::get_if<double Owner::*>(&field.member)) {
      owner.** member = params.real(name) + 0.0;  // -0 and 0 are one value
    } else if (const auto* member = std::get_if<std::vector<int64_t> Owner::*>(&field.member)) {
      const auto& text = params.text(name);
      owner.** member = text.empty() ? std::vector<int64_t>() : parse_range(text);
    } else {
      owner.*std::get<std::string Owner::*>(field.member) = params.text(name);
    }
  }
}

}  // namespace

std::string_view name(Purpose purpose) {
  return purpose == Purpose::kTiming ? "timing" : "accuracy";
}

Purpose parse_purpose(std::string_view text) {
  if (text == "accuracy") return Purpose::kAccuracy;
  if (text == "timing") return Purpose::kTiming;
  throw usage_error("unknown purpose \"{}\"{}; expected accuracy or timing", text,
                    did_you_mean(text, {"accuracy", "timing"}));
}

std::vector<ParamSpec> recipe_specs() { return specs_of(recipe_fields()); }

std::vector<ParamSpec> run_specs() { return specs_of(run_fields()); }

void check(const Recipe& recipe) {
  if (recipe.nesterov && (recipe.optimizer != "sgd" || recipe.momentum == 0)) {
    throw usage_error("nesterov = true needs optimizer = \"sgd\" and a momentum above 0");
  }
  const auto& milestones = recipe.milestones;
  const bool by_milestones = recipe.lr_schedule == "milestones";
  if (by_milestones == milestones.empty()) {
    throw usage_error("lr_schedule = \"milestones\" and milestones = \"60,120\" go together");
  }
  const auto falls = std::adjacent_find(milestones.begin(), milestones.end(), std::greater_equal());
  if (falls != milestones.end() || (!milestones.empty() && milestones.front() < 1)) {
    throw usage_error("milestones = \"{}\": epochs must rise from 1 on",
                      fmt::join(milestones, ","));
  }
}

void check(const RunConfig& config) {
  check(config.recipe);
  if (config.device == "cpu" && (config.precision == "tf32" || config.precision == "fp16")) {
    throw usage_error("precision = {} needs device = cuda; cpu computes in fp32 or bf16",
                      config.precision);
  }
  if (!config.timed_against.empty() && config.method != "dense") {
    throw usage_error(
        "timed_against holds one exact training against another: method = {} has "
        "the exact training of its own network to be held against",
        config.method);
  }
}

void to_json(Json& json, const Recipe& recipe) {
  json = Json::object();
  fields_to_json(json, recipe, recipe_fields());
}

void from_json(const Json& json, Recipe& recipe) {
  fields_from_json(json, recipe, recipe_fields(), "recipe");
}

void to_json(Json& json, const RunConfig& config) {
  json = Json{
      {"purpose", name(config.purpose)}, {"schedule", config.schedule}, {"recipe", config.recipe}};
  fields_to_json(json, config, run_fields());
  // Most runs have none: their keys and checkpoints need not know of it.
  if (config.timed_against.empty()) json.erase("timed_against");
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
  fields_from_json(scalars, config, run_fields(), "run");
}

std::string run_key(const RunConfig& config, std::string_view dataset_sha256,
                    const Catalogue& catalogue) {
  Json json = config;
  json["network"] = catalogue.network_params(config.network).full_text();
  json["method"] = catalogue.method_params(config.method).full_text();
  std::vector<Rule> rules;
  if (json["method"] != "dense") {
    for (const auto& rule : config.schedule) {
      rules.push_back(canonical_rule(rule, config.method, catalogue));
    }
  }
  json["schedule"] = rules;
  if (config.purpose != Purpose::kTiming) {
    json.erase("blocks");
    json.erase("block_steps");
    json.erase("timed_against");
  }
  Json versions = Json::object();
  const auto add_version = [&versions, &catalogue](const std::string& method) {
    const auto& info = catalogue.method(parse_spec(method).name);
    versions["method " + info.name] = info.version;
  };
  add_version(config.method);
  for (const auto& rule : rules) add_version(rule.method);
  const auto add_network = [&versions, &catalogue](const std::string& text) {
    const auto& info = catalogue.network(parse_spec(text).name);
    versions["network " + info.name] = info.version;
  };
  add_network(config.network);
  if (json.contains("timed_against")) {
    json["timed_against"] = catalogue.network_params(config.timed_against).full_text();
    add_network(config.timed_against);
  }
  versions["result format"] = kResultFormat;
  json["versions"] = versions;
  json["dataset_sha256"] = dataset_sha256;
  // nlohmann's objects keep their keys sorted and its doubles the shortest text that reads back as
  // the same number: equal settings have one text.
  return sha256_hex(json.dump());
}

}  // namespace approx
