#include "core/config/run_key.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <set>

#include "base/digest.h"
#include "base/error.h"
#include "core/config/layer_selector.h"
#include "core/config/named_schedule.h"
#include "core/config/position.h"
#include "tests/core/config/test_catalogue.h"

namespace approx {
namespace {

RunConfig keyed_run() {
  RunConfig config;
  config.network = "resnet20";
  config.dataset = "cifar10";
  config.method = "topk_position:k=1";
  config.schedule = make_schedule("wang2019_s2");
  config.threads = 2;
  return config;
}

MethodInfo& method_in(Catalogue& catalogue, std::string_view name) {
  return *std::ranges::find(catalogue.methods, name, &MethodInfo::name);
}

// A rule with a chance is another run; one without it has the key that it always had.
TEST(RunKey, HasTheChanceOfARule) {
  auto config = keyed_run();
  config.method = "block_skip";
  config.schedule = {{.chance = "0.5"}};
  const auto with = [&](const std::string& chance) {
    auto other = config;
    other.schedule[0].chance = chance;
    return run_key(other, "abc", test_catalogue());
  };
  EXPECT_EQ(with("0.5"), with("0.50"));
  EXPECT_EQ(with("0.5"), with("0.501")) << "the nearest 64th";
  std::set<std::string> keys = {with(""), with("0.5"), with("0.25")};
  config.method = "block_skip:rescale=true";
  keys.insert(with("0.5"));
  config.schedule[0].layers = "block=block1";
  keys.insert(with("0.5"));
  EXPECT_EQ(keys.size(), 5u);
  EXPECT_FALSE(Json(Rule()).contains("chance"));
  EXPECT_EQ(Json(Rule{.chance = "0.5"}).get<Rule>().chance, "0.5");
}

// Rates by sensitivity are another run; equal ones have the key that they always had.
TEST(RunKey, HasTheRatesOfARule) {
  auto config = keyed_run();
  config.method = "block_skip";
  config.schedule = {{.chance = "0.5"}};
  const auto with = [&](const std::string& rates) {
    auto other = config;
    other.schedule[0].rates = rates;
    return run_key(other, "abc", test_catalogue());
  };
  EXPECT_EQ(with("equal"), with(""));
  EXPECT_NE(with("sensitivity"), with(""));
  EXPECT_FALSE(Json(Rule()).contains("rates"));
  EXPECT_EQ(Json(Rule{.rates = "sensitivity"}).get<Rule>().rates, "sensitivity");
}

bool has(const std::vector<std::string>& keys, const std::string& key) {
  return std::ranges::find(keys, key) != keys.end();
}

std::string key_now(const RunConfig& config) { return run_key(config, "abc", test_catalogue()); }

// As keys were made until settings that take no part were left out of them.
std::string key_before(const RunConfig& config) {
  const auto& catalogue = test_catalogue();
  Json json = config;
  json["network"] = catalogue.network_params(config.network).text_with_signs();
  json["method"] = catalogue.method_params(config.method).text_with_signs();
  json["schedule"] = Json::array();
  Json versions = Json::object();
  const auto add_method = [&](const std::string& text) {
    versions["method " + parse_spec(text).name] = 1;
  };
  add_method(config.method);
  for (const auto& rule : config.schedule) {
    if (is_dense(config.method)) break;
    Rule canonical = rule;
    const std::string method = rule.method.empty() ? config.method : rule.method;
    canonical.method = catalogue.method_params(method).text_with_signs();
    canonical.products =
        resolved_products(rule, catalogue.method_params(method).full_text(), catalogue);
    std::vector<std::string> terms;
    for (const auto& term : parse_layers(rule.layers)) terms.push_back(term.to_string());
    canonical.layers = fmt::format("{}", fmt::join(terms, "+"));
    canonical.steps = to_text(parse_steps(rule.steps));
    canonical.ranks = rule.ranks.empty() ? "" : to_text(parse_ranks(rule.ranks));
    if (rule.until == "1dur") canonical.until.clear();
    json["schedule"].push_back(canonical);
    add_method(method);
  }
  for (const char* timing : {"blocks", "block_steps"}) {
    if (config.purpose == Purpose::kAccuracy) json.erase(timing);
  }
  const auto rules =
      kernel_rules_id("", config.purpose == Purpose::kTiming ? rules_version_of(config) : 1);
  if (!rules.empty()) json["kernel_rules"] = rules;
  versions["network " + parse_spec(config.network).name] = 1;
  if (is_half(config.precision)) versions["operators in half precision"] = 2;
  versions["result format"] = 2;
  json["versions"] = versions;
  json["dataset_sha256"] = "abc";
  return sha256_hex(json.dump());
}

// Any value that a setting may have.
class AnyRecipes {
 public:
  explicit AnyRecipes(unsigned seed) : rng_(seed) {}

  size_t below(size_t n) { return std::uniform_int_distribution<size_t>(0, n - 1)(rng_); }

  Json value(const ParamSpec& spec) {
    if (spec.name == "milestones") return std::vector<std::string>{"", "3", "3,5"}[below(3)];
    if (spec.name == "rate_points") {
      return std::vector<std::string>{"", "0:1,1:0", "0:0,0.5:1,1:0"}[below(3)];
    }
    if (!spec.choices.empty()) return spec.choices[below(spec.choices.size())];
    if (std::holds_alternative<bool>(spec.fallback)) return below(2) == 1;
    if (std::holds_alternative<int64_t>(spec.fallback)) {
      return static_cast<int64_t>(spec.min) + static_cast<int64_t>(below(4));
    }
    const double least = spec.min, step = std::min(spec.max - spec.min, 1.0) / 4;
    return least + step * static_cast<double>(below(4));
  }

  // Choices at random, of the others half at their defaults.
  Recipe recipe() {
    Json json = Recipe();
    for (const auto& spec : recipe_specs()) {
      if (!spec.choices.empty() || below(2) == 1) json[spec.name] = value(spec);
    }
    return json.get<Recipe>();
  }

 private:
  std::mt19937 rng_;
};

// One setting of a recipe is changed: the key changes if and only if it takes part in one of them.
TEST(RunKey, HasTheSettingsOfARecipeThatTakePartAndNoOthers) {
  AnyRecipes any(1);
  std::set<std::string> idle, in_effect;
  for (int i = 0; i < 4000; ++i) {
    auto config = keyed_run(), other = config;
    config.recipe = any.recipe();
    const auto specs = recipe_specs();
    const auto& spec = specs[any.below(specs.size())];
    Json changed = every_setting(config.recipe);
    changed[spec.name] = any.value(spec);
    if (changed == every_setting(config.recipe)) continue;
    other.recipe = changed.get<Recipe>();
    const bool matters =
        takes_part(config.recipe, spec.name) || takes_part(other.recipe, spec.name);
    (matters ? in_effect : idle).insert(spec.name);
    ASSERT_EQ(key_now(config) != key_now(other), matters) << spec.name << "\n"
                                                          << Json(config.recipe).dump() << "\n"
                                                          << changed.dump();
  }
  std::set<std::string> all;
  for (const auto& spec : recipe_specs()) all.insert(spec.name);
  EXPECT_EQ(in_effect, all);
  EXPECT_EQ(idle, (std::set<std::string>{
                      "momentum",     "nesterov",       "beta1",          "beta2",
                      "epsilon",      "decay_norm",     "decay",          "decay_epochs",
                      "milestones",   "peak_epoch",     "warmup",         "crop_padding",
                      "padding_mode", "crop_scale_min", "crop_scale_max", "crop_ratio_min",
                      "grow_from",    "grow_until",     "rate_points",    "decay_form",
                      "flip_order",   "lookahead_decay"}));
}

TEST(EarlierRunKeys, HaveTheKeyOfBeforeWhereItWasAnother) {
  AnyRecipes any(2);
  int64_t others = 0;
  for (int i = 0; i < 1000; ++i) {
    auto config = keyed_run();
    config.purpose = any.below(2) == 0 ? Purpose::kAccuracy : Purpose::kTiming;
    config.precision = any.below(4) == 0 ? Precision::kBf16 : Precision::kFp32;
    config.method =
        std::vector<std::string>{"zero", "random:std=-0.0", "random:std=0", "dense"}[any.below(4)];
    config.schedule = {{.layers = std::vector<std::string>{"2::4", "2,4,6", "6,4,2", "2:8:2",
                                                           "kind=linear+2+2"}[any.below(5)],
                        .steps = any.below(2) == 0 ? "::4" : "0:8:3"}};
    if (any.below(2) == 0) config.recipe = any.recipe();
    const auto before = key_before(config);
    const auto earlier = earlier_keys(config, "abc", test_catalogue());
    const auto found = std::ranges::find(earlier, before, &EarlierKey::key);
    if (key_now(config) == before) {
      EXPECT_EQ(found, earlier.end()) << Json(config).dump();
    } else {
      ++others;
      ASSERT_NE(found, earlier.end()) << Json(config).dump();
      EXPECT_FALSE(found->other_rules || found->other_version);
    }
    std::set<std::string> keys = {key_now(config)};
    for (const auto& each : earlier) EXPECT_TRUE(keys.insert(each.key).second);
  }
  EXPECT_GT(others, 300);
}

TEST(RunKey, OfSettingsAtTheirDefaultsIsWhatItWas) {
  for (const char* method : {"dense", "zero", "random", "topk_position:k=3"}) {
    for (const auto purpose : all_of_enum<Purpose>()) {
      auto config = keyed_run();
      config.method = method, config.purpose = purpose;
      EXPECT_EQ(key_now(config), key_before(config)) << method;
      config.recipe.optimizer = UpdateRule::kAdam;
      EXPECT_EQ(key_now(config), key_before(config)) << method;
    }
  }
}

TEST(RunKey, AZeroHasNoSign) {
  const auto with = [](const std::string& method, Rule rule) {
    auto config = keyed_run();
    config.method = method;
    config.schedule = {std::move(rule)};
    return key_now(config);
  };
  EXPECT_EQ(with("random:std=-0.0", {}), with("random:std=0", {}));
  EXPECT_EQ(with("random:std=-0", {}), with("random:std=0.0", {}));
  EXPECT_EQ(with("mixed", {.method = "random:std=-0.0"}),
            with("mixed", {.method = "random:std=0"}));
  EXPECT_EQ(with("zero", {.from = "plateau:delta=-0.0"}),
            with("zero", {.from = "plateau:delta=0"}));
  EXPECT_EQ(with("zero", {.from = "-0.0dur"}), with("zero", {}));
  // Settings go through text, but a program may set them too.
  for (double Recipe::*setting : {&Recipe::weight_decay, &Recipe::clip_norm, &Recipe::ema,
                                  &Recipe::warmup, &Recipe::label_smoothing}) {
    auto config = keyed_run(), other = config;
    config.recipe.lr_schedule = other.recipe.lr_schedule = RateSchedule::kOneCycle;
    config.recipe.*setting = 0.0, other.recipe.*setting = -0.0;
    EXPECT_EQ(key_now(config), key_now(other));
  }
  auto stops = keyed_run();
  stops.stop_at = -0.0;
  EXPECT_EQ(key_now(stops), key_now(keyed_run()));
}

TEST(RunKey, IsOneForTheSameLayersStepsAndRanks) {
  const auto key = [](Rule rule, int64_t ranks = 4) {
    auto config = keyed_run();
    config.method = "zero";
    config.ranks = ranks;
    config.schedule = {std::move(rule)};
    return key_now(config);
  };
  const auto layers = [&](const char* text) { return key({.layers = text}); };
  for (const auto& same : std::vector<std::vector<const char*>>{
           {"2,4,6", "6,4,2", "2:7:2", "2:8:2", "2,2,4+6,4", "2:5:2,6", "4,2:7:4"},
           {"::1", "2::1", "2:", "3::1,2", "2::2,3::2", "2,3,4::1", "2::1,5:9"},
           {"5", "5:6", "5:9:7", "5,5"},
           {"kind=conv3x3,2", "2+kind=conv3x3", "kind=conv3x3,kind=conv3x3,2"}}) {
    for (const char* text : same) EXPECT_EQ(layers(text), layers(same[0])) << text;
  }
  const std::vector<const char*> unlike = {
      "2,4,6", "2,4",    "2::2",         "2::1",       "1::1",          "5", "2,4,7", "2::4",
      "3::4",  "2::4,3", "kind=conv3x3", "name=conv3", "2+kind=conv3x3"};
  std::set<std::string> keys;
  for (const char* text : unlike) EXPECT_TRUE(keys.insert(layers(text)).second) << text;
  EXPECT_EQ(key({.steps = "0:8:3"}), key({.steps = "0:7:3"}));
  EXPECT_NE(key({.steps = "0:9:4"}), key({.steps = "0:8:4"}));
  EXPECT_EQ(key({.ranks = "0:4"}), key({}));
  EXPECT_EQ(key({.ranks = "0::2"}, 1), key({}, 1));
  EXPECT_NE(key({.ranks = "0::2"}), key({}));
  EXPECT_NE(key({.ranks = "0:3"}), key({}));
}

// The canonical text selects what the text selects, and is its own canonical text.
TEST(Layers, HaveOneTextThatSelectsTheSame) {
  AnyRecipes any(3);
  const auto number = [&](size_t n) { return std::to_string(1 + any.below(n)); };
  std::map<std::vector<bool>, std::string> text_of;  // of numbers up to 200
  for (int i = 0; i < 3000; ++i) {
    std::string text;
    for (size_t terms = 1 + any.below(3); terms > 0; --terms) {
      const int64_t start = static_cast<int64_t>(1 + any.below(6));
      const int64_t stop = start + 1 + static_cast<int64_t>(any.below(9));
      if (!text.empty()) text += any.below(2) == 0 ? "," : "+";
      switch (any.below(3)) {
        case 0:
          text += std::to_string(start);
          break;
        case 1:
          text += fmt::format("{}::{}", start, number(4));
          break;
        default:
          text += fmt::format("{}:{}:{}", start, stop, number(4));
      }
    }
    const auto selected = [](const std::string& of) {
      std::vector<bool> has(200);
      for (const auto& term : parse_layers(of)) {
        for (size_t n = 0; n < has.size(); ++n) {
          has[n] = has[n] || term.slice.contains(static_cast<int64_t>(n));
        }
      }
      return has;
    };
    const auto canonical_text = canonical_layers(text);
    ASSERT_EQ(selected(canonical_text), selected(text)) << text << " " << canonical_text;
    ASSERT_EQ(canonical_layers(canonical_text), canonical_text);
    const auto [known, is_new] = text_of.emplace(selected(text), canonical_text);
    ASSERT_EQ(known->second, canonical_text) << text;
  }
  // What stored runs have, as their keys have it.
  for (const char* text : {"2:3:1", "2::4", "2::2", "2::1", "1::1", "2:6:1", "6::1", "2:11:1",
                           "3::2", "kind=linear"}) {
    EXPECT_EQ(canonical_layers(text), text);
  }
  // Beyond any network nothing is counted out.
  EXPECT_EQ(canonical_layers("5000000,2::70000,5000000"), "2::70000+5000000:5000001:1");
}

TEST(Recipe, SaysWhatHasNoEffectAndWhy) {
  Recipe recipe;
  EXPECT_TRUE(idle_settings(recipe).empty());
  recipe.decay = 0.5;
  recipe.optimizer = UpdateRule::kAdam;
  recipe.momentum = 0.5;
  recipe.padding_mode = PaddingMode::kReflect;
  const std::vector<IdleSetting> idle = {{"momentum", "0.5", "optimizer = adam"},
                                         {"decay", "0.5", "lr_schedule = constant"},
                                         {"padding_mode", "reflect", "crop_padding = 0"}};
  EXPECT_EQ(idle_settings(recipe), idle);
  Recipe plain;
  plain.optimizer = UpdateRule::kAdam;
  EXPECT_EQ(canonical(recipe), plain);
  EXPECT_TRUE(idle_settings(plain).empty());
}

TEST(EarlierRunKeys, HaveTheVersionsThatDifferByRoundingAlone) {
  const auto config = keyed_run();
  auto catalogue = test_catalogue();
  auto& method = method_in(catalogue, "topk_position");
  std::vector<std::string> keys;  // of versions 1 to 4
  for (method.version = 1; method.version <= 4; ++method.version) {
    keys.push_back(run_key(config, "abc", catalogue));
  }
  method.version = 4;
  EXPECT_TRUE(earlier_run_keys(config, "abc", catalogue).empty()) << "an earlier result is another";
  method.rounding_since = 2;
  EXPECT_EQ(earlier_run_keys(config, "abc", catalogue),
            (std::vector<std::string>{keys[2], keys[1]}));
  for (const auto& earlier : earlier_keys(config, "abc", catalogue)) {
    EXPECT_TRUE(earlier.other_version);
    EXPECT_FALSE(earlier.other_rules);
  }
  EXPECT_EQ(run_key(config, "abc", catalogue), keys[3]) << "saying so changes no key";
  auto other = config;
  other.method = "zero";
  EXPECT_TRUE(earlier_run_keys(other, "abc", catalogue).empty()) << "of a method it does not use";
  other.method = "mixed";
  for (auto& rule : other.schedule) rule.method = "topk_position:k=3";
  EXPECT_EQ(earlier_run_keys(other, "abc", catalogue).size(), 2) << "named by a rule";
}

TEST(EarlierRunKeys, HaveTheVersionsOfHalfPrecisionInSuchRunsAlone) {
  auto catalogue = test_catalogue();
  auto& method = method_in(catalogue, "topk_position");
  method.half_version = 2;
  const auto at = [&](Precision precision) {
    auto config = keyed_run();
    config.precision = precision;
    return config;
  };
  const auto before = run_key(at(Precision::kBf16), "abc", catalogue);
  method.half_version = 3;
  method.half_rounding_since = 2;
  EXPECT_TRUE(earlier_run_keys(at(Precision::kFp32), "abc", catalogue).empty());
  EXPECT_EQ(earlier_run_keys(at(Precision::kBf16), "abc", catalogue),
            std::vector<std::string>{before});
  // Both may be raised: a run in half precision has one of each.
  method.version = 2;
  method.rounding_since = 1;
  EXPECT_EQ(earlier_run_keys(at(Precision::kFp32), "abc", catalogue).size(), 1);
  const auto keys = earlier_run_keys(at(Precision::kBf16), "abc", catalogue);
  EXPECT_EQ(keys.size(), 3);
  EXPECT_TRUE(has(keys, before));
}

TEST(EarlierRunKeys, AreOfEveryMethodAndTableTogether) {
  auto catalogue = test_catalogue();
  auto config = keyed_run();
  config.purpose = Purpose::kTiming;
  config.method = "mixed";
  config.schedule = {{.layers = "2::2", .method = "zero"}, {.layers = "3::2", .method = "random"}};
  const auto rules = static_cast<size_t>(rules_version_of(config));
  EXPECT_EQ(earlier_run_keys(config, "abc", catalogue).size(), rules - 1);
  const auto before = earlier_run_keys(config, "abc", catalogue);
  const auto last = run_key(config, "abc", catalogue);
  for (const char* name : {"zero", "random"}) {
    auto& method = method_in(catalogue, name);
    method.version = 2;
    method.rounding_since = 1;
  }
  const auto keys = earlier_run_keys(config, "abc", catalogue);
  EXPECT_EQ(keys.size(), rules * 2 * 2 - 1);
  EXPECT_EQ(std::set(keys.begin(), keys.end()).size(), keys.size());
  EXPECT_TRUE(has(keys, last));
  for (const auto& key : before) EXPECT_TRUE(has(keys, key));
  EXPECT_FALSE(has(keys, run_key(config, "abc", catalogue)));
}

// However many versions there have been, no run has more keys than can be looked for.
TEST(EarlierRunKeys, AreNotEndlesslyMany) {
  auto catalogue = test_catalogue();
  auto config = keyed_run();
  config.method = "mixed";
  config.schedule.clear();
  for (const char* name : {"zero", "random", "topk_position", "meprop"}) {
    config.schedule.push_back({.layers = "2", .method = name});
    auto& method = method_in(catalogue, name);
    method.version = 9;
    method.rounding_since = 1;
  }
  const auto keys = earlier_run_keys(config, "abc", catalogue);
  EXPECT_EQ(keys.size(), 63);
  EXPECT_EQ(std::set(keys.begin(), keys.end()).size(), keys.size());
}

// A selection is another run, and none leaves the keys of stored runs as they are.
TEST(RunKey, HasTheSelectionAndItsVersion) {
  auto config = keyed_run();
  const auto before = key_now(config);
  EXPECT_FALSE(Json(config).contains("selection"));
  std::set<std::string> keys = {before};
  for (const char* text : {"random_subset:ratio=0.25", "random_subset", "infobatch"}) {
    config.selection = text;
    EXPECT_EQ(Json(config).get<RunConfig>(), config);
    EXPECT_TRUE(keys.insert(key_now(config)).second) << text;
  }
  config.selection = "random_subset";
  const auto of_default = key_now(config);
  config.selection = "random_subset:ratio=0.5";
  EXPECT_EQ(key_now(config), of_default) << "a default written out";
  auto catalogue = test_catalogue();
  catalogue.selections[0].version = 2;
  EXPECT_NE(run_key(config, "abc", catalogue), of_default);
  config.selection.clear();
  EXPECT_EQ(key_now(config), before);
  EXPECT_EQ(run_key(config, "abc", catalogue), before);

  // A small network beside has a version of its own.
  config.selection = "proxy_selection:proxy=resnet14";
  const auto of_proxy = key_now(config);
  catalogue = test_catalogue();
  std::ranges::find(catalogue.networks, "resnet14", &NetworkInfo::name)->version = 5;
  EXPECT_NE(run_key(config, "abc", catalogue), of_proxy);
}

TEST(Catalogue, ReadsTheNetworkBesideASelection) {
  const auto& catalogue = test_catalogue();
  const auto network_of = [&](const std::string& text) {
    const auto& info = catalogue.selection(parse_spec(text).name);
    return info.proxy_network(Params(info.params, parse_spec(text)));
  };
  EXPECT_EQ(network_of("infobatch"), "");
  EXPECT_EQ(network_of("proxy_selection"), "small_cnn");
  EXPECT_EQ(network_of("proxy_selection:proxy=airbench(form=96;width=0.5)"),
            "airbench:form=96,width=0.5");
  EXPECT_THROW(network_of("proxy_selection:proxy=airbench(form=96"), Error);
  EXPECT_THROW(catalogue.selection_params("proxy_selection:proxy=resnet21"), Error);
  EXPECT_THROW(catalogue.selection_params("infobach"), Error);
  const Catalogue read = Json(catalogue).get<Catalogue>();
  EXPECT_TRUE(read.selection("infobatch").after_an_epoch);
  EXPECT_FALSE(read.selection("random_subset").after_an_epoch);
}

TEST(CatalogueJson, HasTheVersionsThatCount) {
  Catalogue catalogue = test_catalogue();
  auto& method = method_in(catalogue, "zero");
  method.version = 3, method.half_version = 5;
  method.rounding_since = 2, method.half_rounding_since = 4;
  const Catalogue read = Json(catalogue).get<Catalogue>();
  EXPECT_EQ(read.method("zero").first_that_counts(), 2);
  EXPECT_EQ(read.method("zero").first_half_that_counts(), 4);
  EXPECT_EQ(read.method("random").first_that_counts(), 1);
}

}  // namespace
}  // namespace approx
