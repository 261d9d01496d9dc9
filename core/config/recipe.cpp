#include "core/config/recipe.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>

#include "base/error.h"
#include "base/numbers.h"
#include "core/config/settings.h"

namespace approx {
namespace {

// Corner points, which travel as a text such as "0:0,0.3:1,1:0".
Setting<Recipe> points_setting(const char* name, std::vector<RatePoint> Recipe::*member,
                               const char* help) {
  return {{.name = name, .fallback = std::string(), .help = help, .choices = {}},
          [member](const Recipe& recipe) { return Json(to_text(recipe.*member)); },
          [member, name](Recipe& recipe, const Params& params) {
            recipe.*member = parse_rate_points(params.text(name));
          }};
}

const std::vector<Setting<Recipe>>& recipe_settings() {
  using R = Recipe;
  static const std::vector<Setting<R>> settings = {
      choice_setting("init", &R::init, "how the weights of convolutions start").late(),
      choice_setting("optimizer", &R::optimizer, "update rule"),
      number_setting("learning_rate", &R::learning_rate, "peak of the learning-rate schedule",
                     1e-10, kMostLearningRate),
      number_setting("momentum", &R::momentum, "sgd", 0, 0.99999),
      flag_setting("nesterov", &R::nesterov, "sgd: Nesterov's momentum"),
      number_setting("weight_decay", &R::weight_decay, "L2, added to the gradient", 0, 10),
      flag_setting("decay_norm", &R::decay_norm, "weight decay of biases and scales of norms too"),
      choice_setting("decay_form", &R::decay_form,
                     "sgd: weight_decay is of the gradient, or of a step at the peak rate")
          .late(),
      number_setting("norm_bias_rate", &R::norm_bias_rate,
                     "learning rate of the biases of norms, in that of the others", 1e-6, 1e6)
          .late(),
      number_setting("ghost_batch", &R::ghost_batch,
                     "images whose statistics a batch norm takes together, 0 for the whole batch",
                     0, 65536)
          .late(),
      number_setting("first_bias_epochs", &R::first_bias_epochs,
                     "epochs in which the bias of the first convolution trains, 0 for all", 0,
                     100'000)
          .late(),
      number_setting("beta1", &R::beta1, "adam", 0, 0.99999),
      number_setting("beta2", &R::beta2, "adam", 0, 0.9999999),
      number_setting("epsilon", &R::epsilon, "adam", 1e-20, 1),
      number_setting("clip_norm", &R::clip_norm, "largest norm of the gradient, 0 for any", 0, 1e9),
      number_setting("ema", &R::ema, "decay of averaged weights a step, 0 for none", 0, 0.9999999),
      number_setting("lookahead_every", &R::lookahead_every,
                     "steps between two returns to slow weights, 0 for none", 0, 1'000'000)
          .late(),
      number_setting("lookahead_decay", &R::lookahead_decay,
                     "lookahead: share of the slow weights that a step leaves", 0, 1)
          .late(),

      choice_setting("lr_schedule", &R::lr_schedule, "how the learning rate moves"),
      number_setting("decay", &R::decay, "exponential, step, milestones: factor", 1e-6, 1),
      number_setting("decay_epochs", &R::decay_epochs, "step: epochs between two factors", 1,
                     100'000),
      list_setting("milestones", &R::milestones, "milestones: epochs before which a factor comes"),
      number_setting("peak_epoch", &R::peak_epoch, "triangular: epochs that rise", 0, 100'000),
      number_setting("warmup", &R::warmup, "onecycle: share of the steps that rise", 0, 1),
      number_setting("warmup_epochs", &R::warmup_epochs, "epochs of a linear rise before", 0,
                     100'000),
      points_setting("rate_points", &R::rate_points,
                     "points: SHARE:FACTOR,..., linear between shares of all steps")
          .late(),

      number_setting("epochs", &R::epochs, "passes over the training part", 1, 100'000),
      number_setting("last_epoch", &R::last_epoch, "share of the last epoch that is trained", 1e-6,
                     1)
          .late(),
      number_setting("eval_every", &R::eval_every, "epochs between evaluations", 1, 100'000),
      number_setting("label_smoothing", &R::label_smoothing, "share given to all classes", 0, 0.99),

      number_setting("crop_padding", &R::crop_padding, "random crop: pixels added on each side", 0,
                     64),
      choice_setting("padding_mode", &R::padding_mode, "random crop: what is added"),
      flag_setting("flip", &R::flip, "mirror half of the images"),
      choice_setting("flip_order", &R::flip_order,
                     "flip: drawn in each epoch, or each image in every second one")
          .late(),
      number_setting("cutout", &R::cutout, "side of the square that is blanked, 0 for none", 0,
                     256),

      flag_setting("test_flip", &R::test_flip, "evaluation: average over the mirror image"),
      number_setting("test_shift", &R::test_shift,
                     "evaluation: average over crops shifted by so many pixels, 0 for none", 0, 64)
          .late(),
      number_setting("norm_examples", &R::norm_examples,
                     "evaluation: training images of batch norms, 0: as trained", 0, 100'000'000)
          .late(),

      choice_setting("crop", &R::crop, "how a training image is cut"),
      number_setting("crop_scale_min", &R::crop_scale_min,
                     "random_resized: least share of the area", 1e-4, 1),
      number_setting("crop_scale_max", &R::crop_scale_max,
                     "random_resized: largest share of the area", 1e-4, 1),
      number_setting("crop_ratio_min", &R::crop_ratio_min,
                     "random_resized: least width to height; the largest is its inverse", 0.01, 1),
      number_setting("image_size", &R::image_size,
                     "photographs: side in training, 0 for the data set's own", 0, 4096),
      number_setting("eval_size", &R::eval_size,
                     "photographs: side in evaluation, 0 as in training", 0, 4096),
      number_setting("start_size", &R::start_size,
                     "side of the images in the first epochs, 0 as later", 0, 4096),
      number_setting("grow_from", &R::grow_from, "epoch from which start_size grows", 0, 100'000),
      number_setting("grow_until", &R::grow_until, "epoch from which images have their full size",
                     0, 100'000)};
  return settings;
}

}  // namespace

double length_in_epochs(const Recipe& recipe) {
  return static_cast<double>(recipe.epochs - 1) + recipe.last_epoch;
}

int64_t steps_per_epoch(int64_t images, int64_t batch_size) {
  return std::max<int64_t>(1, images / batch_size);
}

int64_t total_steps(const Recipe& recipe, int64_t steps_per_epoch) {
  const double last = recipe.last_epoch * static_cast<double>(steps_per_epoch);
  // A share in decimals, as 0.3 of 10 steps, may be a little less than the step that it means.
  const auto whole = static_cast<int64_t>(std::floor(last + 1e-6));
  return (recipe.epochs - 1) * steps_per_epoch + std::max<int64_t>(1, whole);
}

std::vector<ParamSpec> recipe_specs() { return specs_of(recipe_settings()); }

void check(const Recipe& recipe) {
  if (recipe.nesterov && (recipe.optimizer != UpdateRule::kSgd || recipe.momentum == 0)) {
    throw usage_error("nesterov = true needs optimizer = \"sgd\" and a momentum above 0");
  }
  if (recipe.ema > 0 && recipe.lookahead_every > 0) {
    throw usage_error("ema and lookahead_every both average the weights; set one of them to 0");
  }
  const auto& milestones = recipe.milestones;
  const bool by_milestones = recipe.lr_schedule == RateSchedule::kMilestones;
  if (by_milestones == milestones.empty()) {
    throw usage_error("lr_schedule = \"milestones\" and milestones = \"60,120\" go together");
  }
  const auto falls = std::adjacent_find(milestones.begin(), milestones.end(), std::greater_equal());
  if (falls != milestones.end() || (!milestones.empty() && milestones.front() < 1)) {
    throw usage_error("milestones = \"{}\": epochs must rise from 1 on",
                      fmt::join(milestones, ","));
  }
  const bool by_points = recipe.lr_schedule == RateSchedule::kPoints;
  if (by_points == recipe.rate_points.empty()) {
    throw usage_error(
        "lr_schedule = \"points\" and rate_points = \"0:0.2,0.23:1,1:0.07\" go together");
  }
  if (by_points) check(recipe.rate_points);
}

std::vector<std::string> beyond_the_end(const Recipe& recipe) {
  const int64_t epochs = recipe.epochs;
  const double length = length_in_epochs(recipe);
  std::vector<std::string> lines;
  const auto add = [&](const std::string& what, const char* effect) {
    lines.push_back(fmt::format("{}: the training ends after {}, {}", what,
                                length == 1 ? "one epoch" : shortest(length) + " epochs", effect));
  };
  if (takes_part(recipe, "milestones")) {
    const auto never = std::lower_bound(recipe.milestones.begin(), recipe.milestones.end(), epochs);
    if (never != recipe.milestones.end()) {
      add(fmt::format("milestones {}", fmt::join(never, recipe.milestones.end(), ",")),
          "before the learning rate falls there");
    }
  }
  if (takes_part(recipe, "decay_epochs") && recipe.decay_epochs >= epochs) {
    add(fmt::format("decay_epochs = {}", recipe.decay_epochs), "before the learning rate falls");
  }
  if (takes_part(recipe, "peak_epoch") && recipe.peak_epoch >= epochs) {
    add(fmt::format("peak_epoch = {}", recipe.peak_epoch), "while the learning rate still rises");
  }
  if (recipe.warmup_epochs >= epochs) {
    add(fmt::format("warmup_epochs = {}", recipe.warmup_epochs),
        "while the learning rate still rises");
  }
  if (recipe.first_bias_epochs >= epochs) {
    add(fmt::format("first_bias_epochs = {}", recipe.first_bias_epochs),
        "while that bias still trains");
  }
  if (takes_part(recipe, "grow_from") && recipe.grow_from >= epochs) {
    add(fmt::format("grow_from = {}", recipe.grow_from), "with images of start_size alone");
  }
  return lines;
}

namespace {

// When a setting has a meaning, and the setting that decides it.
struct Demand {
  std::string_view decided_by;
  std::function<bool(const Recipe&)> holds;
};

std::map<std::string_view, std::vector<Demand>> make_demands() {
  const Demand sgd{"optimizer", [](const Recipe& r) { return r.optimizer == UpdateRule::kSgd; }};
  const Demand adam{"optimizer", [](const Recipe& r) { return r.optimizer == UpdateRule::kAdam; }};
  const Demand random{"crop", [](const Recipe& r) { return r.crop == CropKind::kRandomResized; }};
  const Demand padded{"crop", [](const Recipe& r) { return r.crop == CropKind::kPadded; }};
  const Demand pads{"crop_padding", [](const Recipe& r) { return r.crop_padding > 0; }};
  const Demand grows{"start_size", [](const Recipe& r) { return r.start_size > 0; }};
  const Demand decays{"weight_decay", [](const Recipe& r) { return r.weight_decay > 0; }};
  const auto under = [](std::vector<RateSchedule> schedules) {
    return Demand{"lr_schedule", [schedules = std::move(schedules)](const Recipe& r) {
                    return std::ranges::find(schedules, r.lr_schedule) != schedules.end();
                  }};
  };
  // Whether a setting is not at its default, which is no choice: runs were stored before there was
  // another.
  const auto chosen = [](std::string_view name, auto Recipe::*member) {
    return Demand{name, [member](const Recipe& r) { return r.*member != Recipe().*member; }};
  };
  using enum RateSchedule;
  return {{"init", {chosen("init", &Recipe::init)}},
          {"momentum", {sgd}},
          {"nesterov", {sgd}},
          {"beta1", {adam}},
          {"beta2", {adam}},
          {"epsilon", {adam}},
          {"decay_norm", {decays}},
          {"decay_form", {sgd, decays, chosen("decay_form", &Recipe::decay_form)}},
          {"first_bias_epochs", {chosen("first_bias_epochs", &Recipe::first_bias_epochs)}},
          {"norm_bias_rate", {chosen("norm_bias_rate", &Recipe::norm_bias_rate)}},
          {"ghost_batch", {chosen("ghost_batch", &Recipe::ghost_batch)}},
          {"lookahead_every", {chosen("lookahead_every", &Recipe::lookahead_every)}},
          {"lookahead_decay", {chosen("lookahead_every", &Recipe::lookahead_every)}},
          {"decay", {under({kExponential, kStep, kMilestones})}},
          {"decay_epochs", {under({kStep})}},
          {"milestones", {under({kMilestones})}},
          {"peak_epoch", {under({kTriangular})}},
          {"warmup", {under({kOneCycle})}},
          {"rate_points", {under({kPoints})}},
          {"last_epoch", {chosen("last_epoch", &Recipe::last_epoch)}},
          {"test_shift", {chosen("test_shift", &Recipe::test_shift)}},
          {"norm_examples", {chosen("norm_examples", &Recipe::norm_examples)}},
          {"flip_order",
           {{"flip", [](const Recipe& r) { return r.flip; }},
            chosen("flip_order", &Recipe::flip_order)}},
          {"crop_padding", {padded}},
          {"padding_mode", {padded, pads}},
          {"crop_scale_min", {random}},
          {"crop_scale_max", {random}},
          {"crop_ratio_min", {random}},
          {"grow_from", {grows}},
          {"grow_until", {grows}}};
}

// All demands of a setting must hold. A setting without demands always takes part.
const std::vector<Demand>& demands_of(std::string_view setting) {
  static const auto demands = make_demands();
  static const std::vector<Demand> none;
  const auto found = demands.find(setting);
  return found == demands.end() ? none : found->second;
}

std::string value_text(const Json& value) {
  return value.is_string() ? value.get<std::string>() : value.dump();
}

const Setting<Recipe>& setting_of(std::string_view name) {
  const auto& settings = recipe_settings();
  return *std::ranges::find(settings, name, [](const auto& each) { return each.spec.name; });
}

}  // namespace

bool takes_part(const Recipe& recipe, std::string_view setting) {
  return std::ranges::all_of(demands_of(setting),
                             [&](const Demand& each) { return each.holds(recipe); });
}

std::vector<IdleSetting> idle_settings(const Recipe& recipe) {
  std::vector<IdleSetting> idle;
  for (const auto& setting : recipe_settings()) {
    for (const auto& demand : demands_of(setting.spec.name)) {
      if (demand.holds(recipe) || setting.at_default(recipe)) continue;
      const Json decides = setting_of(demand.decided_by).get(recipe);
      idle.push_back({.name = setting.spec.name,
                      .value = value_text(setting.get(recipe)),
                      .why = fmt::format("{} = {}", demand.decided_by, value_text(decides))});
      break;
    }
  }
  return idle;
}

Recipe canonical(const Recipe& recipe) {
  Json defaults = Json::object();
  for (const auto& idle : idle_settings(recipe)) {
    defaults[idle.name] = setting_of(idle.name).get(Recipe());
  }
  Recipe made = recipe;
  if (!defaults.empty()) from_json(defaults, made);
  return made;
}

void to_json(Json& json, const Recipe& recipe) {
  json = settings_to_json(recipe, recipe_settings());
}

Json every_setting(const Recipe& recipe) {
  return settings_to_json(recipe, recipe_settings(), /*late_too=*/true);
}

void from_json(const Json& json, Recipe& recipe) {
  settings_from_json(json, recipe, recipe_settings(), "recipe");
}

}  // namespace approx
