#include "core/config/run_config.h"

#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <random>
#include <set>

#include "core/config/named_schedule.h"
#include "core/config/run_key.h"
#include "core/config/settings.h"
#include "tests/core/config/test_catalogue.h"

namespace approx {
namespace {

// Why a configuration is refused, "" where it is not.
std::string why_refused(const RunConfig& config) {
  try {
    check(config);
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kUsage);
    return error.what();
  }
  return "";
}

std::string key_of(const RunConfig& config, std::string_view sha = "abc") {
  return run_key(config, sha, test_catalogue());
}

RunConfig example() {
  RunConfig config;
  config.network = "resnet20";
  config.dataset = "cifar10";
  config.method = "topk_position:k=1";
  config.schedule = make_schedule("wang2019_s2");
  config.recipe.epochs = 10;
  config.threads = 2;
  return config;
}

class RandomConfigs {
 public:
  explicit RandomConfigs(unsigned seed) : rng_(seed) {}

  int64_t pick(int64_t low, int64_t high) {
    return std::uniform_int_distribution<int64_t>(low, high)(rng_);
  }

  template <typename T>
  T one_of(const std::vector<T>& values) {
    return values[static_cast<size_t>(pick(0, static_cast<int64_t>(values.size()) - 1))];
  }

  RunConfig next() {
    RunConfig config;
    config.purpose = pick(0, 1) ? Purpose::kTiming : Purpose::kAccuracy;
    config.network = one_of<std::string>({"resnet20", "vgg19", "small_cnn"});
    config.dataset = one_of<std::string>({"cifar10", "mnist14"});
    config.split = one_of<SplitKind>({SplitKind::kHoldout, SplitKind::kPaper});
    config.train_examples = pick(0, 3) * 100;
    config.method =
        one_of<std::string>({"dense", "zero", "random:std=0.25", "topk_position:scale=signed"});
    for (int64_t n = pick(1, 3); n > 0; --n) {
      Rule rule;
      rule.layers = fmt::format("{}::{}", pick(1, 4), pick(1, 4));
      rule.steps = fmt::format("{}::{}", pick(0, 4), pick(1, 4));
      if (pick(0, 1)) rule.from = fmt::format("{}ep", pick(1, 9));
      config.schedule.push_back(rule);
    }
    config.recipe.optimizer = one_of<UpdateRule>({UpdateRule::kSgd, UpdateRule::kAdam});
    config.recipe.learning_rate = one_of<double>({0.1, 1e-3, 0.4});
    config.recipe.epochs = pick(1, 20);
    config.recipe.flip = pick(0, 1);
    config.seed = pick(0, 1000);
    config.batch_size = pick(1, 256);
    config.precision = one_of<Precision>({Precision::kFp32, Precision::kBf16});
    config.threads = pick(1, 8);
    config.device = one_of<DeviceKind>({DeviceKind::kCpu, DeviceKind::kCuda});
    config.blocks = pick(1, 30);
    config.block_steps = pick(1, 30);
    config.selection = one_of<std::string>({"", "", "random_subset:ratio=0.25", "infobatch"});
    config.ranks = pick(1, 3);
    config.graphs = one_of<GraphUse>({GraphUse::kAuto, GraphUse::kOff});
    config.stop_at = one_of<double>({0, 0, 0.5});
    config.patience = pick(0, 2);
    return config;
  }

 private:
  std::mt19937 rng_;
};

// The same settings as another text would write them.
RunConfig respell(RunConfig config, RandomConfigs& random) {
  const auto& catalogue = test_catalogue();
  config.network = catalogue.network_params(config.network).full_text();
  if (random.pick(0, 1)) config.method = catalogue.method_params(config.method).full_text();
  if (!config.selection.empty() && random.pick(0, 1)) {
    config.selection = catalogue.selection_params(config.selection).full_text();
  }
  for (auto& rule : config.schedule) {
    if (random.pick(0, 1)) rule.method = config.method;
    if (random.pick(0, 1) && config.method != "dense") rule.products = {Product::kWeightGradient};
    if (random.pick(0, 1)) rule.layers = " " + rule.layers + " ";
    if (random.pick(0, 1)) rule.until = "1dur";
    if (random.pick(0, 1) && rule.from.empty()) rule.from = "0ba";
  }
  if (config.purpose == Purpose::kAccuracy) config.blocks = random.pick(1, 100);
  if (config.method == "dense" && random.pick(0, 1)) config.schedule.clear();
  return config;
}

TEST(RunKey, IsTheSameForTheSameSettingsWrittenDifferently) {
  RandomConfigs random(1);
  for (int i = 0; i < 10'000; ++i) {
    const auto config = random.next();
    const auto other = respell(config, random);
    EXPECT_EQ(key_of(config), key_of(other)) << Json(config).dump() << "\n" << Json(other).dump();
    EXPECT_EQ(key_of(config), key_of(Json::parse(Json(config).dump()).get<RunConfig>()));
  }
}

TEST(RunKey, DiffersForDifferentSettings) {
  RandomConfigs random(2);
  std::map<std::string, std::string> settings_of;
  for (int i = 0; i < 10'000; ++i) {
    auto config = random.next();
    if (config.method == "dense") config.schedule.clear();
    // Settings that have no effect.
    const bool is_timing = config.purpose == Purpose::kTiming;
    if (!is_timing) config.blocks = config.block_steps = 1;
    if (is_timing || config.patience >= config.recipe.epochs) config.patience = 0;
    if (is_timing) config.stop_at = 0;
    if (!is_timing || config.device == DeviceKind::kCpu) config.graphs = GraphUse::kAuto;
    const auto settings = Json(config).dump();
    const auto [found, fresh] = settings_of.emplace(key_of(config), settings);
    if (!fresh) {
      EXPECT_EQ(found->second, settings);
    }
  }
}

TEST(RunKey, EachSingleChangeChangesIt) {
  using Change = std::function<void(RunConfig&)>;
  const std::vector<Change> changes = {[](RunConfig& c) { c.purpose = Purpose::kTiming; },
                                       [](RunConfig& c) { c.network = "resnet14"; },
                                       [](RunConfig& c) { c.dataset = "mnist14"; },
                                       [](RunConfig& c) { c.split = SplitKind::kPaper; },
                                       [](RunConfig& c) { c.train_examples = 10; },
                                       [](RunConfig& c) { c.method = "topk_position:k=2"; },
                                       [](RunConfig& c) { c.method = "dense"; },
                                       [](RunConfig& c) { c.schedule[0].layers = "2::3"; },
                                       [](RunConfig& c) { c.schedule[0].steps = "1::2"; },
                                       [](RunConfig& c) { c.schedule[0].from = "1ep"; },
                                       [](RunConfig& c) { c.schedule[0].until = "1ep"; },
                                       [](RunConfig& c) { c.schedule[0].method = "zero"; },
                                       [](RunConfig& c) { c.schedule.push_back(c.schedule[0]); },
                                       [](RunConfig& c) { c.seed = 1; },
                                       [](RunConfig& c) { c.batch_size = 64; },
                                       [](RunConfig& c) { c.precision = Precision::kBf16; },
                                       [](RunConfig& c) { c.threads = 1; },
                                       [](RunConfig& c) { c.device = DeviceKind::kCuda; },
                                       [](RunConfig& c) { c.selection = "infobatch"; },
                                       [](RunConfig& c) { c.ranks = 2; },
                                       [](RunConfig& c) { c.stop_at = 0.5; },
                                       [](RunConfig& c) { c.patience = 1; }};
  std::set<std::string> keys = {key_of(example())};
  for (const auto& change : changes) {
    auto config = example();
    change(config);
    EXPECT_TRUE(keys.insert(key_of(config)).second) << Json(config).dump();
  }
  EXPECT_TRUE(keys.insert(key_of(example(), "other data")).second);
}

TEST(Recipe, MilestonesAreATextOfRisingEpochs) {
  Recipe recipe;
  from_json({{"lr_schedule", "milestones"}, {"milestones", "60, 120,160"}}, recipe);
  EXPECT_EQ(recipe.milestones, (std::vector<int64_t>{60, 120, 160}));
  EXPECT_EQ(Json(recipe)["milestones"], "60,120,160");
  EXPECT_EQ(Json(recipe).get<Recipe>(), recipe);
  EXPECT_NO_THROW(check(recipe));
  from_json({{"milestones", "20-80+20"}}, recipe);
  EXPECT_EQ(recipe.milestones, (std::vector<int64_t>{20, 40, 60, 80}));
  for (const char* text : {"60,60", "60,30", "0,10", ""}) {
    from_json({{"milestones", text}}, recipe);
    EXPECT_THROW(check(recipe), Error) << text;
  }
  for (const char* text : {"60,", "x", "-3", "1.5"}) {
    EXPECT_THROW(from_json({{"milestones", text}}, recipe), Error) << text;
  }
  from_json({{"milestones", "60"}, {"lr_schedule", "step"}}, recipe);
  EXPECT_THROW(check(recipe), Error) << "milestones that nothing reads";
}

// Settings as they were when the first results were stored, and with one that came later.
struct Knob {
  int64_t size = 3;
  Precision precision = Precision::kFp32;
  int64_t later = 7;
};

std::vector<Setting<Knob>> first_settings() {
  std::vector<Setting<Knob>> settings;
  settings.push_back(number_setting("size", &Knob::size, "", 0, 9));
  settings.push_back(choice_setting("precision", &Knob::precision, ""));
  return settings;
}

std::vector<Setting<Knob>> later_settings() {
  auto settings = first_settings();
  settings.push_back(number_setting("later", &Knob::later, "", 0, 9).late());
  return settings;
}

TEST(Settings, ALateOneLeavesTheKeysOfEarlierRunsAsTheyWere) {
  Knob knob{.size = 4};
  EXPECT_EQ(settings_to_json(knob, later_settings()), settings_to_json(knob, first_settings()));
  EXPECT_EQ(settings_to_json(knob, later_settings()).dump(), R"({"precision":"fp32","size":4})");
  knob.later = 8;
  const Json json = settings_to_json(knob, later_settings());
  EXPECT_EQ(json.dump(), R"({"later":8,"precision":"fp32","size":4})");
  Knob read;
  settings_from_json(json, read, later_settings(), "knob");
  EXPECT_EQ(read.later, 8);
  // What was written before there was such a setting means its default.
  read = Knob();
  settings_from_json(Json{{"size", 5}}, read, later_settings(), "knob");
  EXPECT_EQ(read.later, 7);
  EXPECT_EQ(settings_to_json(read, later_settings(), /*late_too=*/true).at("later"), 7);
}

TEST(RunKey, HasBlocksForTimingRunsOnly) {
  auto config = example();
  auto more = config;
  more.blocks = 99;
  more.block_steps = 99;
  EXPECT_EQ(key_of(config), key_of(more));
  config.purpose = more.purpose = Purpose::kTiming;
  EXPECT_NE(key_of(config), key_of(more));
}

TEST(RunKey, HasTheOtherNetworkOfATimingOnly) {
  auto config = example();
  config.method = "dense";
  auto against = config;
  against.timed_against = "vgg19";
  EXPECT_EQ(key_of(config), key_of(against));
  config.purpose = against.purpose = Purpose::kTiming;
  EXPECT_NE(key_of(config), key_of(against));
  EXPECT_FALSE(Json(config).contains("timed_against"));
  EXPECT_EQ(Json(against).get<RunConfig>(), against);
  EXPECT_NO_THROW(check(against));
  against.method = "zero";
  EXPECT_THROW(check(against), Error);
}

// Another run, since it has another end; runs of before it could be set keep their keys.
TEST(RunKey, HasTheTargetThatEndsAnAccuracyRun) {
  auto config = example(), stops = config;
  stops.stop_at = 0.9;
  EXPECT_NE(key_of(config), key_of(stops));
  EXPECT_FALSE(Json(config).contains("stop_at"));
  EXPECT_EQ(Json(stops).get<RunConfig>(), stops);
  config.purpose = stops.purpose = Purpose::kTiming;
  EXPECT_EQ(key_of(config), key_of(stops));
  EXPECT_THROW((Json{{"stop_at", 1.1}}).get<RunConfig>(), Error);
}

TEST(RunKey, HasAPatienceOnlyWhereItCanEndTheRun) {
  auto config = example();
  config.recipe.epochs = 10;
  const auto key = [&](int64_t patience, int64_t eval_every = 1) {
    auto other = config;
    other.recipe.eval_every = eval_every;
    other.patience = patience;
    EXPECT_EQ(may_end_early(other), takes_part(other, "patience"));
    return key_of(other);
  };
  EXPECT_NE(key(3), key(0));
  EXPECT_NE(key(3), key(4));
  // The first evaluation is the best so far, and the last ends the training anyway.
  EXPECT_NE(key(8), key(0)) << "evaluations after 1 and 9 epochs";
  for (const int64_t patience : {9, 10, 1'000'000}) EXPECT_EQ(key(patience), key(0)) << patience;
  EXPECT_NE(key(3, 3), key(0, 3)) << "after 3 and 6";
  EXPECT_NE(key(4, 3), key(0, 3)) << "after 3 and 9";
  EXPECT_EQ(key(7, 3), key(0, 3)) << "after 3 and 12";
  EXPECT_FALSE(Json(config).contains("patience"));
  config.patience = 3;
  EXPECT_EQ(Json(config).get<RunConfig>(), config);
  config.purpose = Purpose::kTiming;
  EXPECT_FALSE(may_end_early(config));
  EXPECT_EQ(key(3), key(0));
  EXPECT_THROW((Json{{"patience", -1}}).get<RunConfig>(), Error);
  EXPECT_THROW((Json{{"patience", 1.5}}).get<RunConfig>(), Error);
}

TEST(RunKey, HasTheRanksWhereThereAreSeveral) {
  const auto config = example();
  auto alone = config, several = config, together = config;
  alone.norm_statistics = NormScope::kSynchronised;
  several.ranks = together.ranks = 4;
  together.norm_statistics = NormScope::kSynchronised;
  EXPECT_FALSE(Json(config).contains("ranks"));
  EXPECT_FALSE(Json(config).contains("norm_statistics"));
  EXPECT_EQ(key_of(config), key_of(alone));
  EXPECT_NE(key_of(config), key_of(several));
  EXPECT_NE(key_of(several), key_of(together));
  EXPECT_EQ(Json(together).get<RunConfig>(), together);
}

TEST(RunConfig, RefusesRanksThatDoNotShareABatchEqually) {
  RunConfig config;
  config.batch_size = 128;
  config.ranks = 3;
  try {
    check(config);
    FAIL() << "accepted";
  } catch (const Error& error) {
    EXPECT_STREQ(
        error.what(),
        "ranks = 3 does not divide batch_size = 128: each rank needs equally many images of "
        "a step");
  }
  config.ranks = 4;
  EXPECT_NO_THROW(check(config));
}

// A part that is all that a norm sees would be the run without parts under another key.
TEST(RunConfig, RefusesAGhostBatchThatIsNoPart) {
  RunConfig config;
  config.batch_size = 128;
  config.recipe.ghost_batch = 127;
  EXPECT_EQ(why_refused(config), "");
  config.recipe.ghost_batch = 128;
  EXPECT_EQ(why_refused(config),
            "recipe.ghost_batch = 128 must be below the 128 images that a norm sees in a step "
            "(batch_size / ranks), or 0 for all of them");
  config.ranks = 2;
  config.recipe.ghost_batch = 64;
  EXPECT_EQ(why_refused(config),
            "recipe.ghost_batch = 64 must be below the 64 images that a norm sees in a step "
            "(batch_size / ranks), or 0 for all of them");
  config.recipe.ghost_batch = 32;
  EXPECT_EQ(why_refused(config), "");
  config.norm_statistics = NormScope::kSynchronised;
  EXPECT_EQ(why_refused(config),
            "norm_statistics = synchronised and recipe.ghost_batch = 32 exclude each other: set "
            "norm_statistics = local or ghost_batch = 0");
}

TEST(RunKey, IsOneForDenseUnderEverySchedule) {
  auto config = example();
  config.method = "dense";
  const auto key = key_of(config);
  config.schedule = make_schedule("wang2019_s3");
  EXPECT_EQ(key_of(config), key);
}

TEST(RunKey, ChangesWithTheImplementationOfMethodAndNetwork) {
  auto catalogue = test_catalogue();
  const auto key = [&] { return run_key(example(), "abc", catalogue); };
  const auto before = key();
  for (auto& method : catalogue.methods) {
    if (method.name == "zero") ++method.version;
  }
  EXPECT_EQ(key(), before) << "a method that the run does not use";
  for (auto& method : catalogue.methods) {
    if (method.name == "topk_position") ++method.version;
  }
  const auto after = key();
  EXPECT_NE(after, before);
  for (auto& network : catalogue.networks) ++network.version;
  EXPECT_NE(key(), after);
}

TEST(RunKey, ChangesInHalfPrecisionAloneWhereOnlyThatChanged) {
  auto catalogue = test_catalogue();
  auto config = example();
  const auto key = [&](Precision precision) {
    config.precision = precision;
    return run_key(config, "abc", catalogue);
  };
  std::map<Precision, std::string> before;
  for (const auto precision : all_of_enum<Precision>()) before[precision] = key(precision);
  for (auto& method : catalogue.methods) {
    if (method.name == "topk_position") ++method.half_version;
  }
  for (const auto precision : all_of_enum<Precision>()) {
    EXPECT_EQ(key(precision) != before[precision], is_half(precision)) << name(precision);
  }
}

TEST(RunConfigJson, RoundTrips) {
  RandomConfigs random(3);
  for (int i = 0; i < 500; ++i) {
    const auto config = random.next();
    EXPECT_EQ(Json::parse(Json(config).dump()).get<RunConfig>(), config);
  }
  EXPECT_EQ(Json::object().get<RunConfig>(), RunConfig());
}

TEST(RunConfigJson, RefusesWhatItDoesNotKnow) {
  for (const char* text : {R"([])",
                           R"({"sede": 1})",
                           R"({"seed": "1"})",
                           R"({"seed": -1})",
                           R"({"seed": 1.5})",
                           R"({"seed": 1e99})",
                           R"({"seed": 99999999999999999999})",
                           R"({"seed": null})",
                           R"({"network": 3})",
                           R"({"precision": "fp64"})",
                           R"({"device": "tpu"})",
                           R"({"batch_size": 0})",
                           R"({"purpose": "speed"})",
                           R"({"purpose": 1})",
                           R"({"schedule": {}})",
                           R"({"schedule": [1]})",
                           R"({"schedule": [{"layer": "2"}]})",
                           R"({"recipe": 3})",
                           R"({"recipe": {"epoch": 3}})",
                           R"({"recipe": {"flip": 1}})",
                           R"({"recipe": {"epochs": 2.0}})",
                           R"({"recipe": {"learning_rate": -1}})",
                           R"({"recipe": {"learning_rate": true}})",
                           R"({"recipe": {"optimizer": "adamw"}})"}) {
    try {
      Json::parse(text).get<RunConfig>();
      ADD_FAILURE() << text;
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::kUsage) << text;
    }
  }
}

TEST(RunKey, TheLibrarysOperatorsAreAnotherRun) {
  auto config = example();
  config.method = "dense";
  for (const auto purpose : {Purpose::kAccuracy, Purpose::kTiming}) {
    config.purpose = purpose;
    auto library = config;
    library.operators = OperatorSet::kLibrary;
    EXPECT_NE(key_of(library), key_of(config));
    EXPECT_FALSE(Json(config).contains("operators")) << "keys of stored runs stay what they are";
    EXPECT_EQ(Json(library).get<RunConfig>(), library);
    EXPECT_NO_THROW(check(library));
    const auto settings = settings_in_effect(library);
    EXPECT_EQ(std::ranges::count(settings, SettingText("operators", "library")), 1);
    for (const auto& [name, text] : settings_in_effect(config)) EXPECT_NE(name, "operators");
  }
}

TEST(RunConfig, ASelectionIsAnArmOfItsOwn) {
  auto config = example();
  config.method = "dense";
  EXPECT_TRUE(is_exact(config));
  for (const auto& [name, text] : settings_in_effect(config)) EXPECT_NE(name, "selection");
  config.selection = "infobatch:r=0.5";
  EXPECT_FALSE(is_exact(config));
  EXPECT_EQ(
      std::ranges::count(settings_in_effect(config), SettingText("selection", "infobatch:r=0.5")),
      1);
  EXPECT_EQ(arm_text("dense", ""), "dense");
  EXPECT_EQ(arm_text("dense", "infobatch"), "infobatch");
  EXPECT_EQ(arm_text("zero", "infobatch"), "zero, infobatch");
}

TEST(RunConfig, TheLibrarysOperatorsComputeNoMethod) {
  auto config = example();
  config.operators = OperatorSet::kLibrary;
  config.method = "zero";
  EXPECT_EQ(
      why_refused(config),
      "operators = library uses LibTorch's operators, and method = zero needs this program's: "
      "set method = dense or operators = best");
  config.method = "dense";
  EXPECT_EQ(why_refused(config), "");
  config.timed_against = "vgg19";
  EXPECT_NE(why_refused(config).find("exclude each other"), std::string::npos);
}

// Steps that are captured and such that are not train the same.
TEST(RunKey, GraphsAreAnotherTimingOnAGpuAlone) {
  auto config = example();
  for (const auto device : all_of_enum<DeviceKind>()) {
    for (const auto purpose : all_of_enum<Purpose>()) {
      config.device = device;
      config.purpose = purpose;
      config.graphs = GraphUse::kAuto;
      EXPECT_FALSE(Json(config).contains("graphs")) << "keys of stored runs stay what they are";
      const auto without_a_word = key_of(config);
      config.graphs = GraphUse::kOn;
      EXPECT_EQ(key_of(config), without_a_word);
      config.graphs = GraphUse::kOff;
      const bool differs = device == DeviceKind::kCuda && purpose == Purpose::kTiming;
      EXPECT_EQ(key_of(config) != without_a_word, differs);
      EXPECT_EQ(std::ranges::count(settings_in_effect(config), SettingText("graphs", "off")),
                differs ? 1 : 0);
      EXPECT_EQ(Json(config).get<RunConfig>(), config);
    }
  }
}

TEST(RunConfig, ACpuHasNoGraphs) {
  auto config = example();
  config.device = DeviceKind::kCpu;
  config.graphs = GraphUse::kOn;
  try {
    check(config);
    ADD_FAILURE();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kUsage);
    EXPECT_STREQ(error.what(), "graphs = on needs device = cuda: steps on a CPU are not captured");
  }
  config.device = DeviceKind::kCuda;
  EXPECT_NO_THROW(check(config));
}

// It makes some steps from the first one on, and evaluates nothing that a plateau could show in.
TEST(RunConfig, ATimingDoesNotComeByWhereARuleBeginsOrEnds) {
  const auto refusal_of = [](Rule rule) {
    auto config = example();
    config.schedule = {Rule(), std::move(rule)};
    EXPECT_EQ(why_refused(config), "") << "an accuracy run does";
    config.purpose = Purpose::kTiming;
    return why_refused(config);
  };
  EXPECT_EQ(refusal_of({.layers = "2::4", .from = "1ep", .until = "0.5dur"}),
            "a timing run is too short to reach where the rule of layers = \"2::4\" begins or ends "
            "(from = \"1ep\", until = \"0.5dur\"); time the rule without that");
  for (const Rule& rule : std::vector<Rule>{{.from = "300ba"},
                                            {.from = "plateau"},
                                            {.until = "plateau:patience=2"},
                                            {.method = "dense", .until = "10ep"},
                                            {.steps = "4::4"},
                                            {.steps = ":100"}}) {
    EXPECT_NE(refusal_of(rule), "") << Json(rule).dump();
  }
  for (const Rule& rule :
       std::vector<Rule>{{.from = "0ep", .until = "1dur"}, {.steps = "::4"}, {.steps = "3::4"}}) {
    EXPECT_EQ(refusal_of(rule), "") << Json(rule).dump();
  }
  auto dense = example();
  dense.purpose = Purpose::kTiming;
  dense.schedule[0].until = "0.5dur";
  dense.method = "dense";
  EXPECT_NO_THROW(check(dense)) << "it has no schedule";
}

// The built-in table decides how long a step takes. Runs of its first version are stored under keys
// that know of no table.
TEST(RunKey, AnotherBuiltInTableIsAnotherTiming) {
  auto config = example();
  const auto earlier = [&] { return earlier_run_keys(config, "abc", test_catalogue()); };
  EXPECT_TRUE(earlier().empty()) << "what was trained stays";
  config.purpose = Purpose::kTiming;
  auto keys = earlier();
  EXPECT_EQ(keys.size(), rules_version_of(config) - 1);
  keys.push_back(key_of(config));
  EXPECT_EQ(std::set(keys.begin(), keys.end()).size(), keys.size());
  config.kernel_rules = "whole * * * * * * never\n";
  EXPECT_TRUE(earlier().empty()) << "a table of its own";
}

TEST(RunKey, RowsOfBf16OnACpuConcernSuchTimingsAlone) {
  auto config = example();
  config.purpose = Purpose::kTiming;
  EXPECT_LT(rules_version_of(config), kernel_rules_version()) << "the key of before";
  EXPECT_EQ(rules_version_of(config), 2) << "timings of before count";
  config.precision = Precision::kBf16;
  EXPECT_EQ(rules_version_of(config), kernel_rules_version());
  // Timings by each earlier version are found, and known for such.
  const auto earlier = earlier_keys(config, "abc", test_catalogue());
  EXPECT_EQ(static_cast<int64_t>(earlier.size()), kernel_rules_version() - 1);
  for (const auto& key : earlier) {
    EXPECT_TRUE(key.other_rules);
    EXPECT_NE(key.key, key_of(config));
  }
  config.device = DeviceKind::kCuda;
  EXPECT_EQ(rules_version_of(config), 2);
}

TEST(RunKey, StatisticsOfTrainingAreNotWritten) {
  auto config = example();
  EXPECT_FALSE(Json(config)["recipe"].contains("norm_examples"));
  for (const auto& [name, text] : settings_in_effect(config)) EXPECT_NE(name, "norm_examples");
  config.recipe.norm_examples = 200;
  EXPECT_EQ(Json(config).get<RunConfig>(), config);
  const auto settings = settings_in_effect(config);
  EXPECT_EQ(std::count(settings.begin(), settings.end(), SettingText("norm_examples", "200")), 1);
}

// It came when there were results of runs whose epochs are whole.
TEST(RunKey, WholeEpochsAreNotWritten) {
  auto config = example();
  config.recipe.epochs = 3;
  EXPECT_FALSE(Json(config)["recipe"].contains("last_epoch"));
  for (const auto& [name, text] : settings_in_effect(config)) EXPECT_NE(name, "last_epoch");
  config.recipe.last_epoch = 0.4;
  EXPECT_EQ(Json(config).get<RunConfig>(), config);
  const auto settings = settings_in_effect(config);
  EXPECT_EQ(std::count(settings.begin(), settings.end(), SettingText("last_epoch", "0.4")), 1);
  EXPECT_DOUBLE_EQ(length_in_epochs(config.recipe), 2.4);
  // Whole steps that fit, and one at least.
  EXPECT_EQ(total_steps(config.recipe, 10), 24);
  EXPECT_EQ(total_steps(config.recipe, 9), 21);
  EXPECT_EQ(total_steps(config.recipe, 1), 3);
  config.recipe.last_epoch = 0.29;  // of 100 steps 28.999999999999996
  EXPECT_EQ(total_steps(config.recipe, 100), 229);
  config.recipe.last_epoch = 1;
  EXPECT_EQ(total_steps(config.recipe, 7), 21);
  for (const char* wrong : {"0", "-0.5", "1.5"}) {
    EXPECT_THROW(
        from_json(Json::parse(fmt::format(R"({{"last_epoch": {}}})", wrong)), config.recipe), Error)
        << wrong;
  }
}

TEST(RunKey, OtherKernelRulesAreAnotherRun) {
  const auto config = example();
  auto other = config, third = config;
  other.kernel_rules = "whole * * * * * * never\n";
  third.kernel_rules = "whole * * * * * * ..0.5\n";
  EXPECT_NE(key_of(other), key_of(config));
  EXPECT_NE(key_of(other), key_of(third));
  EXPECT_FALSE(Json(config).contains("kernel_rules"));
  EXPECT_EQ(Json(other).get<RunConfig>(), other);
  EXPECT_EQ(kernel_rules_id("", 1), "");
  EXPECT_EQ(kernel_rules_id("", 2), "builtin-2");
  EXPECT_EQ(kernel_rules_id("abc", 2),
            "sha256:ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(kernel_rules_label(""), "");
  EXPECT_EQ(kernel_rules_label("abc"), "ba7816bf8f01");

  const auto settings = settings_in_effect(other);
  EXPECT_EQ(std::count(settings.begin(), settings.end(),
                       SettingText("kernel_rules", kernel_rules_label(other.kernel_rules))),
            1);
  for (const auto& [name, text] : settings_in_effect(config)) EXPECT_NE(name, "kernel_rules");
  other.kernel_rules = "nonsense";
  EXPECT_THROW(check(other), Error);
}

}  // namespace
}  // namespace approx
