#include "core/config/schedule.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <map>
#include <random>
#include <set>

#include "core/config/named_schedule.h"
#include "tests/core/config/test_catalogue.h"

namespace approx {
namespace {

const std::vector<LayerInfo>& layers_of(const char* network) {
  return test_catalogue().network(network).layers;
}

Schedule make(const std::vector<Rule>& rules, const char* network = "resnet20",
              std::string_view method = "zero", int64_t steps_per_epoch = 10,
              int64_t total_steps = 100) {
  return Schedule(rules, layers_of(network), method, test_catalogue(), steps_per_epoch,
                  total_steps);
}

// The numbers of the convolutions with an approximated product at `step`.
std::set<int64_t> approximated(const Schedule& schedule, const char* network, int64_t step) {
  std::set<int64_t> found;
  const auto& layers = layers_of(network);
  for (size_t i = 0; i < layers.size(); ++i) {
    if (!schedule.at(i, step).dense()) found.insert(layers[i].is_conv() ? layers[i].index : 0);
  }
  return found;
}

template <typename Call>
std::string schedule_message(Call&& call) {
  try {
    call();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kUsage);
    EXPECT_EQ(std::string(error.what()).find('\n'), std::string::npos);
    return error.what();
  }
  return "no error";
}

// The blocks whose branches have no backward pass at a step.
std::set<std::string> stopped_blocks(const Schedule& schedule, const char* network, int64_t step) {
  std::set<std::string> found;
  for (const auto& layer : layers_of(network)) {
    if (!layer.block.empty() && schedule.branch_at(layer.block, step).stopped) {
      found.insert(layer.block);
    }
  }
  return found;
}

TEST(BlockRules, StopAllLayersOfABranchAndNoOthers) {
  const auto schedule =
      make({{.layers = "block=block[23]", .steps = "1::2"}}, "resnet14", "block_skip");
  for (int64_t step = 0; step < 6; ++step) {
    const bool odd = step % 2 == 1;
    EXPECT_EQ(approximated(schedule, "resnet14", step),
              odd ? (std::set<int64_t>{4, 5, 6, 7}) : std::set<int64_t>());
    EXPECT_EQ(stopped_blocks(schedule, "resnet14", step),
              odd ? (std::set<std::string>{"block2", "block3"}) : std::set<std::string>());
  }
  const auto decision = schedule.at(3, 1);
  EXPECT_EQ(decision.of(Product::kForward), Decision::kDense);
  EXPECT_EQ(decision.of(Product::kDataGradient), 0);
  EXPECT_EQ(decision.of(Product::kWeightGradient), 0);
  EXPECT_TRUE(schedule.stops_blocks(0) && schedule.stops_any());
  EXPECT_FALSE(make({{}}).stops_any());
}

// Every round of 64 steps stops each block equally often, in few different steps; another seed
// stops others.
TEST(BlockRules, DrawPatternsOfTheSeed) {
  const auto drawn = [](uint64_t seed) {
    return Schedule({{.chance = "0.25"}}, layers_of("resnet20"), "block_skip", test_catalogue(), 10,
                    100000, 1, seed);
  };
  const auto schedule = drawn(3), again = drawn(3), other = drawn(4);
  EXPECT_EQ(schedule.period(), 64);
  std::set<std::set<std::string>> patterns;
  int64_t differing = 0;
  for (int64_t round = 0; round < 20; ++round) {
    std::map<std::string, int64_t> times;
    for (int64_t step = 64 * round; step < 64 * (round + 1); ++step) {
      const auto blocks = stopped_blocks(schedule, "resnet20", step);
      patterns.insert(blocks);
      for (const auto& block : blocks) ++times[block];
      EXPECT_EQ(stopped_blocks(again, "resnet20", step), blocks);
      differing += stopped_blocks(other, "resnet20", step) == blocks ? 0 : 1;
      for (size_t i = 0; i < layers_of("resnet20").size(); ++i) {
        EXPECT_EQ(!schedule.at(i, step).dense(), blocks.contains(layers_of("resnet20")[i].block));
      }
    }
    EXPECT_EQ(times.size(), 9u);
    for (const auto& [block, count] : times) EXPECT_EQ(count, 16) << block;
  }
  EXPECT_LE(patterns.size(), 64u);
  EXPECT_GT(patterns.size(), 40u);
  EXPECT_GT(differing, 1000);
  EXPECT_EQ(schedule.branch_at("block1", 0).chance, 0.25);
  EXPECT_NEAR(schedule.approximated_share(6400), 0.25 * 18 / 19, 1e-12);
}

// Two blocks are stopped together at a quarter of the steps.
TEST(BlockRules, DrawEachBlockByItself) {
  int64_t both = 0, pairs = 0;
  for (uint64_t seed = 0; seed < 200; ++seed) {
    const Schedule schedule({{.chance = "0.5"}}, layers_of("resnet14"), "block_skip",
                            test_catalogue(), 10, 1000, 1, seed);
    for (int64_t step = 0; step < 64; ++step) {
      const bool first = schedule.branch_at("block1", step).stopped;
      both += first && schedule.branch_at("block2", step).stopped ? 1 : 0;
      ++pairs;
    }
  }
  EXPECT_NEAR(static_cast<double>(both) / static_cast<double>(pairs), 0.25, 0.01);
}

// The pattern of a step is uniform, whatever its round.
TEST(StepDraws, AStepHasEachPatternEquallyOften) {
  for (const int64_t step : {0, 63, 1000}) {
    std::map<int64_t, int64_t> times;
    for (uint64_t seed = 0; seed < 6400; ++seed) ++times[StepDraws(seed).pattern(step)];
    EXPECT_EQ(times.size(), 64u);
    for (const auto& [pattern, count] : times) EXPECT_NEAR(count, 100, 50) << pattern;
  }
  for (uint64_t seed = 0; seed < 50; ++seed) {
    std::set<int64_t> round;
    for (int64_t step = 128; step < 192; ++step) round.insert(StepDraws(seed).pattern(step));
    EXPECT_EQ(round.size(), 64u);
  }
  EXPECT_EQ(std::popcount(StepDraws(1).mask(0, 3, 17)), 17);
  EXPECT_NE(StepDraws(1).mask(0, 3, 17), StepDraws(1).mask(1, 3, 17));
  EXPECT_NE(StepDraws(1).mask(0, 3, 17), StepDraws(1).mask(0, 4, 17));
}

TEST(StepDraws, TakeAChanceToTheNearest64th) {
  EXPECT_EQ(parse_chance("0.5"), 32);
  EXPECT_EQ(parse_chance(" 0.26 "), 17);
  EXPECT_EQ(canonical_chance("0.5"), canonical_chance("0.5001"));
  for (const char* text : {"0", "1", "0.001", "0.999", "-1", "half", "", "nan", "0.5x"}) {
    EXPECT_THROW(parse_chance(text), Error) << text;
  }
}

TEST(BlockRules, ThatStopNothingWholeAreRefused) {
  const auto message = [](const std::vector<Rule>& rules, const char* network = "resnet14",
                          int64_t ranks = 1) {
    return schedule_message([&] {
      const Schedule schedule(rules, layers_of(network), "block_skip", test_catalogue(), 10, 100,
                              ranks);
      schedule.check_together();
    });
  };
  EXPECT_EQ(message({{}}), "no error");
  EXPECT_EQ(message({{.layers = "block=stage9"}}),
            "layers = \"block=stage9\": block=stage9 matches no layer; the network has block1, "
            "block2, block3, block4, block5, block6");
  EXPECT_EQ(message({{.layers = "block=*"}}, "vgg19"),
            "layers = \"block=*\": block=* matches no layer; the network has no residual blocks");
  EXPECT_EQ(message({{}}, "vgg19"), "block_skip:rescale=false: the network has no residual blocks");
  EXPECT_EQ(message({{.layers = "2::4"}}),
            "layers = \"2::4\": block_skip:rescale=false stops whole blocks, and that is a part of "
            "block1; write block=block1");
  EXPECT_EQ(message({{.layers = "name=fc"}}),
            "layers = \"name=fc\": no layer of a residual branch, and block_skip:rescale=false "
            "stops those; write block=GLOB, such as block=block1");
  EXPECT_EQ(message({{.ranks = "0"}}, "resnet14", 2),
            "ranks = \"0\": block_skip:rescale=false stops a branch on all ranks or on none, whose "
            "gradients would not match else; leave ranks out");
  EXPECT_EQ(message({{.ranks = "::1"}}, "resnet14", 2), "no error");
  EXPECT_EQ(message({{.products = {Product::kWeightGradient}}}),
            "block_skip:rescale=false ends a branch's backward pass, both of its gradients: leave "
            "products out");
  EXPECT_EQ(message({{.chance = "2"}}).substr(0, 12), "chance = \"2\"");
}

TEST(BlockRules, RefuseRatesThatNobodyCanMeasure) {
  const auto message = [](const Rule& rule, const char* method, int64_t ranks = 1) {
    return schedule_message(
        [&] { Schedule({rule}, layers_of("resnet14"), method, test_catalogue(), 10, 100, ranks); });
  };
  const Rule rule{.chance = "0.5", .rates = "sensitivity"};
  EXPECT_EQ(message(rule, "block_skip"), "no error");
  EXPECT_EQ(message(rule, "zero"),
            "rates = \"sensitivity\": zero:freeze=false stops no blocks; leave rates out");
  EXPECT_EQ(message({.rates = "sensitivity"}, "block_skip"),
            "rates = \"sensitivity\": there is no chance to share out; add chance = 0.5");
  EXPECT_EQ(message(rule, "block_skip", 2),
            "rates = \"sensitivity\": one rank alone can measure, and the run has 2; leave rates "
            "out");
  EXPECT_EQ(message({.chance = "0.5", .rates = "sensible"}, "block_skip"),
            "rates = \"sensible\": expected equal or sensitivity");
}

// From the sensitivities on, each block is stopped at its own share of every round.
TEST(BlockRules, ShareTheirChanceOutBySensitivity) {
  auto layers = layers_of("resnet14");
  for (auto& layer : layers) layer.macs = 100;
  Schedule schedule({{.layers = "block=block[123]", .chance = "0.25", .rates = "sensitivity"}},
                    layers, "block_skip", test_catalogue(), 10, 1000, 1, 3);
  const auto times = [&] {
    std::map<std::string, int64_t> count;
    for (int64_t step = 128; step < 192; ++step) {
      for (const auto& block : stopped_blocks(schedule, "resnet14", step)) ++count[block];
    }
    return count;
  };
  using Times = std::map<std::string, int64_t>;
  EXPECT_EQ(times(), (Times{{"block1", 16}, {"block2", 16}, {"block3", 16}}));
  EXPECT_EQ(schedule.measured_blocks(), (std::vector<std::string>{"block1", "block2", "block3"}));
  EXPECT_FALSE(schedule.wants_sensitivities(99));
  EXPECT_TRUE(schedule.wants_sensitivities(100)) << "a tenth of the training";
  schedule.set_sensitivities({{"block1", 4}, {"block2", 1}, {"block3", 2}});
  EXPECT_FALSE(schedule.wants_sensitivities(101));
  // Costs of 4 x 7, 1 x 28 and 2 x 13 are as level as 48 patterns can make them.
  EXPECT_EQ(times(), (Times{{"block1", 7}, {"block2", 28}, {"block3", 13}}));
  EXPECT_EQ(schedule.branch_at("block2", 130).chance, 28.0 / 64);
  EXPECT_EQ(schedule.block_chance("block1"), 7.0 / 64);
  for (int64_t step = 128; step < 192; ++step) {
    const auto stopped = stopped_blocks(schedule, "resnet14", step);
    for (size_t i = 0; i < layers.size(); ++i) {
      EXPECT_EQ(!schedule.at(i, step).dense(), stopped.contains(layers[i].block));
    }
  }
}

TEST(BlockRules, MayNotLoseALayerToALaterRule) {
  const auto message = [](const std::vector<Rule>& rules) {
    return schedule_message([&] { make(rules, "resnet14", "block_skip").check_together(); });
  };
  const Rule skip{.chance = "0.5"}, zero{.layers = "4", .method = "zero"},
      early{.layers = "4", .method = "zero", .until = "10ba"},
      late{.from = "10ba", .chance = "0.5"};
  EXPECT_EQ(message({zero, skip}), "no error");
  EXPECT_EQ(message({late, early}), "no error");
  EXPECT_EQ(message({skip, {.layers = "1", .method = "zero"}}), "no error");
  EXPECT_EQ(message({skip, {.layers = "4", .method = "forward_only"}}), "no error");
  EXPECT_EQ(message({skip, zero}),
            "rule 2 (layers = \"4\") takes stage1.conv4 out of the branch that rule 1 (layers = "
            "\"::1\") stops at step 0; put the rule of block_skip:rescale=false last");
}

// The last rule decides alone.
TEST(BlockRules, HaveTheChanceOfTheLastOne) {
  const auto schedule = Schedule({{}, {.layers = "block=block2", .from = "50ba", .chance = "0.5"}},
                                 layers_of("resnet14"), "block_skip", test_catalogue(), 10, 1000);
  const auto times = [&](const char* block, int64_t first, int64_t last) {
    int64_t count = 0;
    for (int64_t step = first; step < last; ++step) {
      count += schedule.branch_at(block, step).stopped ? 1 : 0;
    }
    return count;
  };
  EXPECT_EQ(times("block2", 0, 50), 50);
  EXPECT_EQ(schedule.branch_at("block2", 0).chance, 1);
  EXPECT_EQ(times("block1", 64, 128), 64);
  EXPECT_EQ(times("block2", 64, 128), 32);
  for (int64_t step = 64; step < 128; ++step) {
    EXPECT_EQ(schedule.branch_at("block2", step).stopped, !schedule.at(3, step).dense());
  }
}

// A rule with a chance leaves the steps that it does not draw to the rules before it.
TEST(Schedule, ARuleWithAChanceHoldsForEachLayerByItself) {
  const auto schedule =
      make({{.method = "random"}, {.chance = "0.5"}}, "resnet20", "zero", 10, 1000);
  std::map<size_t, int64_t> drawn;
  bool apart = false;
  for (int64_t step = 0; step < 64; ++step) {
    std::set<int> methods;
    for (size_t i = 1; i < 19; ++i) {
      const int method = schedule.at(i, step).of(Product::kWeightGradient);
      EXPECT_TRUE(method == 0 || method == 1);
      methods.insert(method);
      drawn[i] += method;
    }
    apart |= methods.size() == 2;
  }
  EXPECT_TRUE(apart);
  for (const auto& [layer, times] : drawn) EXPECT_EQ(times, 32) << layer;
}

// In every other epoch, at a higher rate there.
TEST(Schedule, ARuleMayHoldInSomeEpochs) {
  const Schedule schedule(make_schedule("layer_drop_back"), layers_of("resnet14"),
                          "zero:freeze=true", test_catalogue(), /*steps_per_epoch=*/32, 32 * 40);
  EXPECT_EQ(schedule.period(), 64);
  std::map<size_t, int64_t> times;
  for (int64_t step = 0; step < 32 * 40; ++step) {
    const bool odd = step / 32 % 2 == 1;
    EXPECT_EQ(schedule.rate_at(step), odd ? 2 : 1);
    for (size_t i = 0; i < layers_of("resnet14").size(); ++i) {
      const auto decision = schedule.at(i, step);
      if (odd) times[i] += decision.dense() ? 0 : 1;
      if (!odd) {
        EXPECT_TRUE(decision.dense());
      }
    }
  }
  EXPECT_EQ(times.size(), 14u);
  for (const auto& [layer, count] : times) EXPECT_NEAR(count, 320, 80) << layer;
  schedule.check_acts();
  EXPECT_NE(window_text(make_schedule("layer_drop_back")[0]), "");
  EXPECT_EQ(window_text(make_schedule("random_steps:p=0.5")[0]), "");
  EXPECT_EQ(window_text(make_schedule("random_steps:p=0.5,rates=sensitivity")[0]),
            "rates = \"sensitivity\"");
  EXPECT_THROW(parse_rate("0"), Error);
  EXPECT_THROW(parse_rate("x"), Error);
  EXPECT_THROW(check_rule({.epochs = "a"}, test_catalogue()), Error);
  const auto spelt = respelled({.epochs = "::1", .rate = "1.0"});
  EXPECT_TRUE(spelt.epochs.empty() && spelt.rate.empty());
  // The last epoch is the fifth.
  EXPECT_THROW(make({{.epochs = "20"}}).check_acts(), Error);
  EXPECT_EQ(first_step({.steps = "5::10", .epochs = "2::1"}, 32, 320), 64);
}

// Python's slice over [first, n), as a list.
std::set<int64_t> expand(int64_t start, int64_t stop, int64_t step, int64_t n) {
  std::set<int64_t> members;
  for (int64_t i = start; i < (stop < 0 ? n : std::min(stop, n)); i += step) members.insert(i);
  return members;
}

TEST(Slice, AgreesWithANaiveExpanderOnRandomTexts) {
  std::mt19937 rng(1);
  const auto pick = [&rng](int64_t low, int64_t high) {
    return std::uniform_int_distribution<int64_t>(low, high)(rng);
  };
  for (int trial = 0; trial < 3000; ++trial) {
    const int64_t fallback = pick(0, 2);
    const bool has_start = pick(0, 1), has_stop = pick(0, 1), has_step = pick(0, 1);
    const int64_t start = has_start ? pick(0, 20) : fallback;
    const int64_t stop = has_stop ? start + pick(1, 20) : -1;
    const int64_t step = has_step ? pick(1, 9) : 1;
    const auto part = [](bool present, int64_t value) {
      return present ? std::to_string(value) : std::string();
    };
    std::string text = fmt::format("{}:{}", part(has_start, start), part(has_stop, stop));
    if (has_step || pick(0, 1)) text += fmt::format(":{}", part(has_step, step));
    const Slice slice = parse_slice(text, fallback);
    std::set<int64_t> members;
    for (int64_t i = 0; i < 50; ++i) {
      if (slice.contains(i)) members.insert(i);
    }
    EXPECT_EQ(members, expand(start, stop, step, 50)) << text;
  }
}

TEST(Slice, ANumberIsItself) {
  const Slice slice = parse_slice(" 7 ", 2);
  EXPECT_EQ(slice, (Slice{7, 8, 1}));
}

TEST(Slice, RejectsWhatIsNone) {
  for (const char* text : {"", " ", "x", "1:2:3:4", "1:x", "::0", "5:5", "5:3", "-1", "1.5", "1e3",
                           "0x1", "::-1", "99999999999999999999", "9999999999999", ": :x", "+1"}) {
    EXPECT_THROW(parse_slice(text, 0), Error) << text;
  }
}

TEST(Position, CountsBatchesEpochsAndShares) {
  EXPECT_EQ(parse_position("300ba").step(10, 1000), 300);
  EXPECT_EQ(parse_position("10ep").step(391, 1000), 3910);
  EXPECT_EQ(parse_position("1.5ep").step(10, 1000), 15);
  EXPECT_EQ(parse_position("0.25dur").step(10, 1000), 250);
  EXPECT_EQ(parse_position("0.29dur").step(10, 100), 29);  // 0.29 * 100 is just below 29
  EXPECT_EQ(parse_position("1dur").step(10, 1000), 1000);
}

TEST(Position, APlateauHasPatienceAndAGain) {
  const auto plain = parse_position("plateau");
  EXPECT_EQ(plain.unit, Position::Unit::kPlateau);
  EXPECT_EQ(plain.patience, 5);
  EXPECT_GT(plain.step(10, 100), 1'000'000);
  EXPECT_EQ(parse_position("plateau:delta=0.01,patience=2").patience, 2);
  for (const char* text : {"plateau:patience=0", "plateau:delta=2", "plateau:speed=1", "plato"}) {
    EXPECT_THROW(parse_position(text), Error) << text;
  }
}

TEST(Position, RejectsWhatIsNone) {
  for (const char* text : {"", "10", "ep", "-1ep", "1.5ba", "1.1dur", "nanep", "infba", "10 epochs",
                           "1e30ba", "10epp"}) {
    EXPECT_THROW(parse_position(text), Error) << text;
  }
  EXPECT_NE(schedule_message([] { parse_position("10eq"); }).find("did you mean \"ep\""),
            std::string::npos);
}

TEST(Schedule, LayersCountFromTheSecondUnlessTheStartIsGiven) {
  EXPECT_EQ(approximated(make({{.layers = "::1"}}, "small_cnn"), "small_cnn", 0),
            (std::set<int64_t>{2}));
  EXPECT_EQ(approximated(make({{.layers = "1::1"}}, "small_cnn"), "small_cnn", 0),
            (std::set<int64_t>{1, 2}));
  EXPECT_EQ(approximated(make({{.layers = "1"}}, "small_cnn"), "small_cnn", 0),
            (std::set<int64_t>{1}));
}

TEST(Schedule, KindsPassTheFirstConvolutionOverAndNamesDoNot) {
  EXPECT_EQ(approximated(make({{.layers = "kind=conv*"}}, "small_cnn"), "small_cnn", 0),
            (std::set<int64_t>{2}));
  EXPECT_EQ(approximated(make({{.layers = "name=*conv*"}}, "small_cnn"), "small_cnn", 0),
            (std::set<int64_t>{1, 2}));
  EXPECT_EQ(approximated(make({{.layers = "kind=linear"}}, "small_cnn"), "small_cnn", 0),
            (std::set<int64_t>{0}));
  EXPECT_EQ(approximated(make({{.layers = "kind=linear, 1 + 2"}}, "small_cnn"), "small_cnn", 0),
            (std::set<int64_t>{0, 1, 2}));
}

TEST(Schedule, TheLaterRuleDecidesProductByProduct) {
  const auto schedule = make({{.layers = "2::1", .method = "meprop"},
                              {.layers = "3", .products = {Product::kWeightGradient}},
                              {.layers = "4", .method = "dense"}});
  EXPECT_EQ(schedule.methods(), (std::vector<std::string>{"meprop:k=1", "zero:freeze=false"}));
  EXPECT_EQ(schedule.at(1, 0).of(Product::kDataGradient), 0);
  EXPECT_EQ(schedule.at(1, 0).of(Product::kWeightGradient), 0);
  EXPECT_EQ(schedule.at(2, 0).of(Product::kDataGradient), 0);
  EXPECT_EQ(schedule.at(2, 0).of(Product::kWeightGradient), 1);
  EXPECT_TRUE(schedule.at(3, 0).dense());
  EXPECT_EQ(schedule.at(4, 0).of(Product::kForward), Decision::kDense);
}

// Rules against the plainest possible reading of them.
TEST(Schedule, AgreesWithANaiveOneOnRandomRules) {
  std::mt19937 rng(2);
  const auto pick = [&rng](int64_t low, int64_t high) {
    return std::uniform_int_distribution<int64_t>(low, high)(rng);
  };
  const auto& layers = layers_of("resnet20");
  const std::vector<std::string> methods = {"", "zero", "random", "meprop", "dense"};
  for (int trial = 0; trial < 200; ++trial) {
    struct Plain {
      std::set<int64_t> layers, steps;
      int64_t from, until;
      std::vector<Product> products;
      std::string method;
    };
    std::vector<Plain> plain;
    std::vector<Rule> rules;
    for (int64_t n = pick(1, 4); n > 0; --n) {
      const int64_t layer = pick(1, 19), layer_step = pick(1, 5), step = pick(0, 3),
                    period = pick(1, 4), from = pick(0, 20), until = from + pick(1, 40);
      const auto& method = methods[pick(0, 4)];
      rules.push_back({.layers = fmt::format("{}::{}", layer, layer_step),
                       .steps = fmt::format("{}::{}", step, period),
                       .products = {Product::kWeightGradient},
                       .method = method,
                       .from = fmt::format("{}ba", from),
                       .until = fmt::format("{}ba", until)});
      plain.push_back({expand(layer, -1, layer_step, 20),
                       expand(step, -1, period, 100),
                       from,
                       until,
                       {Product::kWeightGradient},
                       method});
    }
    const auto schedule = make(rules, "resnet20", "topk_position");
    for (size_t i = 0; i + 1 < layers.size(); ++i) {
      for (int64_t s = 0; s < 70; ++s) {
        std::string expected = "dense";
        for (const auto& rule : plain) {
          if (rule.layers.count(layers[i].index) && rule.steps.count(s) && s >= rule.from &&
              s < rule.until) {
            expected = rule.method.empty() ? "topk_position" : rule.method;
          }
        }
        const int index = schedule.at(i, s).of(Product::kWeightGradient);
        const std::string actual = index == Decision::kDense ? "dense" : schedule.methods()[index];
        EXPECT_EQ(actual.substr(0, actual.find(':')), expected);
        EXPECT_EQ(schedule.at(i, s).of(Product::kForward), Decision::kDense);
      }
    }
  }
}

TEST(Schedule, WindowsAreHalfOpen) {
  const auto schedule = make({{.from = "1ep", .until = "0.5dur"}});
  EXPECT_TRUE(schedule.at(1, 9).dense());
  EXPECT_FALSE(schedule.at(1, 10).dense());
  EXPECT_FALSE(schedule.at(1, 49).dense());
  EXPECT_TRUE(schedule.at(1, 50).dense());
}

TEST(Schedule, PeriodIsTheLeastCommonMultiple) {
  EXPECT_EQ(make({}).period(), 1);
  EXPECT_EQ(make({{.steps = "::4"}, {.steps = "1::6"}}).period(), 12);
  EXPECT_EQ(make({{.steps = "::999999999989"}, {.steps = "::999999999961"}}).period(), 100);
}

TEST(Schedule, ShareCountsConvolutionsAndSteps) {
  // Wang et al. aim at a quarter of the (layer, step) pairs.
  EXPECT_DOUBLE_EQ(make(make_schedule("wang2019_s1")).approximated_share(100), 5.0 / 19);
  EXPECT_DOUBLE_EQ(make(make_schedule("wang2019_s2")).approximated_share(100), 9.0 / 38);
  EXPECT_DOUBLE_EQ(make(make_schedule("wang2019_s3")).approximated_share(100), 18.0 / 76);
  EXPECT_DOUBLE_EQ(make(make_schedule("wang2019_cnn2"), "wang_cnn2").approximated_share(100), 0.25);
  EXPECT_EQ(make({{}}).approximated_share(0), 0);
  EXPECT_EQ(make({{.layers = "kind=linear"}}).approximated_share(10), 0);
}

// A frozen weight has no gradient, and a method would change what it was frozen for.
TEST(Schedule, AFrozenLayerIsExactInAllProducts) {
  auto layers = test_catalogue().network("resnet20").layers;
  layers[0].frozen = true;
  Rule every;
  every.layers = "name=*";
  const Schedule schedule({every}, layers, "meprop", test_catalogue(), 10, 100);
  EXPECT_TRUE(schedule.at(0, 0).dense());
  EXPECT_FALSE(schedule.at(1, 0).dense());
  EXPECT_FALSE(layers[0].computes(Product::kWeightGradient));
  EXPECT_TRUE(layers[0].computes(Product::kForward));
  EXPECT_TRUE(layers[1].computes(Product::kWeightGradient));
}

TEST(Schedule, DenseIsExactWhateverTheRules) {
  const auto schedule = make({{.layers = "1::1"}}, "resnet20", "dense");
  EXPECT_TRUE(schedule.methods().empty());
  EXPECT_TRUE(approximated(schedule, "resnet20", 0).empty());
}

TEST(Schedule, MixedNeedsAMethodInEveryRule) {
  EXPECT_EQ(make({{.method = "zero"}}, "resnet20", "mixed").methods().size(), 1u);
  EXPECT_NE(schedule_message([] { make({{}}, "resnet20", "mixed"); }).find("name its own method"),
            std::string::npos);
}

TEST(Schedule, ErrorsNameTheSelectorAndTheFix) {
  struct Case {
    Rule rule;
    const char* expected;
  };
  const std::vector<Case> cases = {
      {{.layers = "20::1"},
       "layers = \"20::1\": 20::1 matches no layer; the network has "
       "convolutions 1 to 19"},
      {{.layers = "2::x"}, "layers = \"2::x\": \"x\" is not a whole number"},
      {{.layers = "0"}, "layers = \"0\": convolutions count from 1"},
      {{.layers = "2,,3"}, "an empty term"},
      {{.layers = "kid=conv3x3"}, "unknown selector \"kid\" (did you mean \"kind\"?)"},
      {{.layers = "kind="}, "kind= needs a pattern"},
      {{.layers = "kind=conv3x4"}, "the network has conv3x3, linear (did you mean \"conv3x3\"?)"},
      {{.layers = "name=fd"}, "name=fd matches no layer; the network has stage1.conv1"},
      {{.steps = "1:1"}, "steps = \"1:1\": \"1:1\" selects nothing"},
      {{.products = {Product::kForward}},
       "zero cannot approximate forward; it approximates "
       "weight_gradient"},
      {{.method = "zerro"}, "unknown method \"zerro\" (did you mean \"zero\"?)"},
      {{.method = "densee"}, "(did you mean \"dense\"?)"},
      {{.method = "dense:k=1"}, "dense takes no parameters"},
      {{.from = "10eq"}, "from: \"10eq\": unknown unit"},
      {{.from = "5ep", .until = "5ep"}, "until: 5ep does not lie after from = 5ep"},
      {{.from = "5ep", .until = "3ba"}, "the rule ends (step 3) before it begins (step 50)"},
      {{.until = "0ba"}, "until: 0ba is before the first step"},
      {{.ranks = "::x"}, "ranks = \"::x\": \"x\" is not a whole number"},
      {{.ranks = "1"}, "ranks = \"1\": the run has one rank, numbered from 0; there is no rank 1"}};
  for (const auto& [rule, expected] : cases) {
    const auto message = schedule_message([&rule = rule] { make({rule}); });
    EXPECT_NE(message.find(expected), std::string::npos) << message << "\nlacks " << expected;
  }
}

TEST(Matrix, ReproducesFigure3CellByCell) {
  // Wang et al. 2019, Figure 3: five layers, four batches.
  const std::vector<std::vector<std::string>> figure = {
      {"dense", "zero", "random", "zero"},
      {"dense", "dense", "random", "dense"},
      {"topk_position", "dense", "random", "dense"},
      {"topk_position", "dense", "dense", "dense"},
      {"topk_position", "zero", "dense", "zero"}};
  const auto rules =
      matrix_rules({".ZRZ", "..R.", "*.R.", "*...", "*Z.Z"}, {{'Z', "zero"}, {'R', "random"}});
  const auto network = test_network("five", 5);
  const Schedule schedule(rules, network.layers, "topk_position", test_catalogue(), 10, 100);
  for (size_t i = 0; i < 5; ++i) {
    for (int64_t step = 0; step < 12; ++step) {
      const int index = schedule.at(i, step).of(Product::kWeightGradient);
      const std::string text = index == Decision::kDense ? "dense" : schedule.methods()[index];
      EXPECT_EQ(text.substr(0, text.find(':')), figure[i][step % 4]) << i << " " << step;
    }
  }
  EXPECT_EQ(schedule.period(), 4);
}

TEST(Matrix, RejectsBadOnes) {
  EXPECT_THROW(matrix_rules({}, {}), Error);
  EXPECT_THROW(matrix_rules({""}, {}), Error);
  EXPECT_NE(schedule_message([] {
              matrix_rules({"..", "."}, {});
            }).find("row 2 has 1 letters"),
            std::string::npos);
  EXPECT_NE(schedule_message([] {
              matrix_rules({".Q"}, {{'Z', "zero"}});
            }).find("row 1, column 2: 'Q' is not in the key; known: .*Z"),
            std::string::npos);
  EXPECT_THROW(matrix_rules(std::vector<std::string>(101, std::string(100, '.')), {}), Error);
}

TEST(Matrix, HasARowForEachConvolution) {
  EXPECT_NO_THROW(check_matrix_rows(19, layers_of("resnet20")));
  EXPECT_EQ(schedule_message([] { check_matrix_rows(1, layers_of("resnet20")); }),
            "matrix: 1 row, and the network has 19 convolutions; write a row for each, of dots "
            "where it is exact");
  EXPECT_NE(schedule_message([] { check_matrix_rows(20, layers_of("resnet20")); }), "no error");
}

TEST(Rule, SurvivesJson) {
  Rule rule{"2::4+name=fc", "::2", {Product::kForward, Product::kWeightGradient}, "zero", "1ep",
            "0.5dur",       "1::2"};
  EXPECT_EQ(Json(rule).get<Rule>(), rule);
  rule.ranks.clear();
  EXPECT_EQ(Json(rule).get<Rule>(), rule);
  EXPECT_FALSE(Json(rule).contains("ranks")) << "keys of runs would change";
  EXPECT_EQ(Json::object().get<Rule>(), Rule());
}

TEST(Rule, RejectsForeignJson) {
  for (const char* text : {"[]", R"({"layer": "2"})", R"({"layers": 2})", R"({"products": "x"})",
                           R"({"products": ["x"]})", R"({"products": [1]})"}) {
    EXPECT_THROW(Json::parse(text).get<Rule>(), Error) << text;
  }
}

TEST(Rule, HasOneCanonicalSpelling) {
  const auto canonical = [](const Rule& rule) {
    return canonical_rule(rule, "topk_position:k=1", test_catalogue());
  };
  const Rule expected = canonical({});
  EXPECT_EQ(canonical({.layers = " 2: :1"}), expected);
  EXPECT_EQ(canonical({.steps = ":"}), expected);
  EXPECT_EQ(canonical({.steps = "0::1"}), expected);
  EXPECT_EQ(canonical({.products = {Product::kWeightGradient}}), expected);
  EXPECT_EQ(canonical({.method = "topk_position:scale=equal"}), expected);
  EXPECT_EQ(canonical({.from = "0ep", .until = "1dur"}), expected);
  EXPECT_EQ(canonical({.ranks = "0::1"}), expected);
  EXPECT_EQ(canonical({.ranks = "1"}), canonical({.ranks = "1:2"}));
  EXPECT_NE(canonical({.ranks = "0"}), expected);
  EXPECT_NE(canonical({.layers = "1::1"}), expected);
  EXPECT_NE(canonical({.from = "1ep"}), expected);
}

TEST(Schedule, ARuleHoldsForItsRanks) {
  const std::vector<Rule> rules = {{.layers = "2::2"}, {.layers = "3::2", .ranks = "1::2"}};
  const Schedule schedule(rules, layers_of("resnet20"), "zero", test_catalogue(), 10, 100, 4);
  EXPECT_TRUE(schedule.tells_ranks_apart());
  int64_t approximated = 0;
  for (size_t i = 0; i < layers_of("resnet20").size(); ++i) {
    const auto& layer = layers_of("resnet20")[i];
    for (int64_t rank = 0; rank < 4; ++rank) {
      const bool expected =
          layer.is_conv() && layer.index > 1 && (layer.index % 2 == 0 || rank % 2 == 1);
      EXPECT_EQ(!schedule.at(i, 5, rank).dense(), expected) << layer.name << ", rank " << rank;
      approximated += expected;
    }
  }
  EXPECT_NEAR(schedule.approximated_share(7), static_cast<double>(approximated) / (19 * 4), 1e-12);
  EXPECT_FALSE(make({rules.front()}).tells_ranks_apart());
  // Some of all that there are.
  const Schedule all({{.ranks = "0:4"}}, layers_of("resnet20"), "zero", test_catalogue(), 10, 100,
                     4);
  EXPECT_FALSE(all.tells_ranks_apart());
  EXPECT_THAT(schedule_message([] {
                Schedule({{.ranks = "4::2"}}, layers_of("resnet20"), "zero", test_catalogue(), 10,
                         100, 4);
              }),
              testing::HasSubstr("the run has 4 ranks, numbered from 0; there is no rank 4"));
}

TEST(RulesTogether, RulesOfDifferentRanksDoNotMeet) {
  const auto check = [](const char* first, const char* second) {
    const Schedule schedule(
        {{.method = "sampler", .ranks = first}, {.method = "zero", .ranks = second}},
        layers_of("resnet20"), "zero", test_catalogue(), 10, 100, 2);
    return schedule_message([&] { schedule.check_together(); });
  };
  EXPECT_EQ(check("0", "1"), "no error");
  EXPECT_THAT(check("0", ""), testing::HasSubstr("overlap"));
  EXPECT_THAT(check("0", "0:"), testing::HasSubstr("overlap"));
}

TEST(Schedule, RulesEndAndBeginAtAPlateau) {
  Rule early, late;
  early.until = "plateau:patience=2,delta=0.01";
  late.method = "random";
  late.from = early.until;
  auto schedule = make({early, late});
  EXPECT_TRUE(schedule.watches_accuracy());
  const auto method = [&](int64_t step) -> std::string {
    const auto decision = schedule.at(1, step);
    return decision.dense() ? "dense"
                            : schedule.methods()[size_t(decision.of(Product::kWeightGradient))];
  };
  EXPECT_EQ(method(1'000'000), "zero:freeze=false");
  EXPECT_FALSE(schedule.observe(0.5, 10));
  EXPECT_FALSE(schedule.observe(0.505, 20)) << "no gain of 0.01, the first time";
  EXPECT_FALSE(schedule.observe(0.6, 30));
  EXPECT_FALSE(schedule.observe(std::nan(""), 40));
  EXPECT_EQ(method(45), "zero:freeze=false");
  EXPECT_TRUE(schedule.observe(0.61, 50)) << "0.61 is not more than 0.01 above 0.6";
  EXPECT_EQ(method(49), "zero:freeze=false");
  EXPECT_EQ(method(50), "random:std=0.0078125");
  EXPECT_FALSE(schedule.observe(0.1, 60)) << "reached once";
  EXPECT_EQ(method(60), "random:std=0.0078125");
}

TEST(Schedule, PlateausHaveOneSpelling) {
  Rule rule;
  rule.until = " plateau:delta=1e-3 ";
  EXPECT_EQ(canonical_rule(rule, "zero", test_catalogue()).until, "plateau:patience=5,delta=0.001");
  rule.from = "plateau";
  EXPECT_THROW(make({rule}), Error) << "begins where it ends";
  rule.until = "20ep";
  EXPECT_EQ(canonical_rule(rule, "zero", test_catalogue()).from, "plateau:patience=5,delta=0.001");
  EXPECT_FALSE(make({Rule{}}).watches_accuracy());
}

TEST(Schedule, AModeNarrowsTheProducts) {
  const auto products = [](const char* method) {
    return canonical_rule(Rule{}, method, test_catalogue()).products;
  };
  EXPECT_EQ(products("sampler").size(), 3u);
  EXPECT_EQ(products("sampler:mode=backward"),
            (std::vector{Product::kDataGradient, Product::kWeightGradient}));
  Rule forward;
  forward.products = {Product::kForward};
  EXPECT_NE(schedule_message([&] {
              make({forward}, "resnet20", "sampler:mode=backward");
            }).find("cannot approximate forward"),
            std::string::npos);
  EXPECT_NE(
      schedule_message([&] { make({forward}, "resnet20", "sampler"); }).find("one sample for all"),
      std::string::npos);
  Rule one;
  one.products = {Product::kWeightGradient};
  EXPECT_NO_THROW(make({one}, "resnet20", "sampler:mode=backward"));
}

// What check_together says of rules on a network of 19 convolutions, "" where nothing.
std::string contradiction(const std::vector<Rule>& rules,
                          const std::vector<std::string>& names = {},
                          int64_t steps_per_epoch = 10) {
  const auto schedule = make(rules, "resnet20", "sampler", steps_per_epoch, 10 * steps_per_epoch);
  const auto message = schedule_message([&] { schedule.check_together(names); });
  return message == "no error" ? "" : message;
}

Rule rule_of(const std::string& layers, const std::string& method = "",
             std::vector<Product> products = {}) {
  Rule rule;
  rule.layers = layers;
  rule.method = method;
  rule.products = std::move(products);
  return rule;
}

TEST(RulesTogether, NothingElseHasAProductOfASample) {
  // The gradients would go by a forward product that was never sampled, or by another's sample.
  const auto dense = contradiction({rule_of("2::1"), rule_of("3", "dense", {Product::kForward})});
  EXPECT_NE(dense.find("rule 2 (layers = \"3\") and rule 1 (layers = \"2::1\") overlap on "
                       "stage1.conv3 at step 0: sampler:mode=both needs all its products, but "
                       "forward goes to dense"),
            std::string::npos)
      << dense;
  EXPECT_NE(contradiction({rule_of("2::1"), rule_of("kind=conv*", "forward_only")}), "");
  EXPECT_NE(contradiction({rule_of("name=fc"), rule_of("kind=linear", "zero")}), "");
  EXPECT_NE(contradiction({rule_of("2::1"), rule_of("3", "sampler:mode=backward")}), "");
  const auto named =
      contradiction({rule_of("2::1"), rule_of("3", "zero")}, {"x.toml:3:1: a", "x.toml:4:1: b"});
  EXPECT_EQ(named.substr(0, 34), "x.toml:4:1: b and x.toml:3:1: a ov") << named;
}

TEST(RulesTogether, WhatDoesNotOverlapIsNoContradiction) {
  EXPECT_EQ(contradiction({rule_of("2::1")}), "");
  EXPECT_EQ(contradiction({rule_of("2::2"), rule_of("3::2", "forward_only")}), "");
  EXPECT_EQ(contradiction({rule_of("2::1"), rule_of("3", "dense")}), "") << "the whole layer";
  EXPECT_EQ(contradiction({rule_of("2::1", "zero"), rule_of("3")}), "") << "all of it is sampled";
  EXPECT_EQ(contradiction({rule_of("2::1"), rule_of("3", "zero"), rule_of("3")}), "")
      << "taken back";
  EXPECT_EQ(contradiction({rule_of("2::1"), rule_of("3")}), "") << "the same method twice";
  EXPECT_EQ(contradiction({rule_of("2::1", "forward_only"), rule_of("3", "meprop")}), "");
  EXPECT_EQ(contradiction({rule_of("2::1", "forward_only"),
                           rule_of("3", "sampler:mode=backward", {Product::kWeightGradient})}),
            "");
}

TEST(RulesTogether, StepsAndWindowsDecideWhetherRulesMeet) {
  const auto met = [](const char* steps, const char* other_steps, const char* from = "",
                      const char* until = "", const char* other_from = "",
                      const char* other_until = "") {
    auto first = rule_of("2::1"), second = rule_of("3", "zero");
    first.steps = steps, first.from = from, first.until = until;
    second.steps = other_steps, second.from = other_from, second.until = other_until;
    return !contradiction({first, second}).empty();
  };
  EXPECT_TRUE(met("::2", "::3"));
  EXPECT_FALSE(met("::2", "1::2"));
  EXPECT_TRUE(met("::2", "1::3"));  // at step 4
  EXPECT_TRUE(met("::7", "6::11"));
  EXPECT_FALSE(met(":50", "50:"));
  EXPECT_TRUE(met(":50", "49:"));
  EXPECT_FALSE(met("::1", "::1", "", "5ep", "5ep") || met("::1", "::1", "", "0.5dur", "5ep"));
  EXPECT_TRUE(met("::1", "::1", "", "5ep", "49ba"));
  EXPECT_FALSE(met("::1", "::1", "", "5ep", "50ba"));
  EXPECT_FALSE(met("::1", "::1", "", "plateau", "plateau"));
  EXPECT_TRUE(met("::1", "::1", "", "", "plateau"));
  EXPECT_TRUE(met("::1", "::1", "", "", "", "plateau"));
  EXPECT_TRUE(met("::1", "::1", "", "plateau:patience=2", "plateau:patience=3"));
}

TEST(RulesTogether, ALayerThatItsMethodLeavesExactHasNoSample) {
  EXPECT_NE(contradiction({rule_of("2::1"), rule_of("8", "meprop:min_channels=32")}), "");
  const auto exact = contradiction({rule_of("2::1"), rule_of("8", "meprop:min_channels=33")});
  EXPECT_NE(exact.find("but data_gradient goes to dense"), std::string::npos) << exact;
}

// What check_acts says, "" where something is approximated.
std::string idleness(const std::vector<Rule>& rules, std::string_view method = "zero") {
  const auto schedule = make(rules, "resnet20", method);
  const auto message = schedule_message([&] { schedule.check_acts(); });
  return message == "no error" ? "" : message;
}

TEST(Acts, WhatNeverHoldsIsRefused) {
  EXPECT_EQ(idleness({{}}), "");
  EXPECT_EQ(idleness({{.from = "99ba"}}), "");
  EXPECT_EQ(idleness({{.from = "100ba"}}),
            "the schedule approximates nothing in this run: rule 1 (layers = \"::1\") begins with "
            "step 100, and the last one is 99");
  EXPECT_NE(idleness({{.from = "10ep"}}), "");
  EXPECT_NE(idleness({{.steps = "100::1"}}), "");
  EXPECT_EQ(idleness({{.from = "100ba"}, {.layers = "3", .steps = "::7", .from = "97ba"}}), "");
  EXPECT_NE(idleness({{.steps = "::10", .from = "1ba", .until = "10ba"}}), "");
  EXPECT_EQ(idleness({{.from = "plateau"}}), "") << "one may come";
  EXPECT_NE(idleness({}), "");
  EXPECT_NE(idleness({{.method = "dense"}}), "");
}

TEST(Acts, WhatLaterRulesTakeBackIsNothing) {
  EXPECT_NE(idleness({{.layers = "2::2"}, {.layers = "2::1", .method = "dense"}}), "");
  EXPECT_EQ(idleness({{.layers = "2::2"}, {.layers = "3::1", .method = "dense"}}), "");
  EXPECT_EQ(idleness({{}, {.method = "dense", .until = "plateau"}}), "") << "one may come";
}

TEST(Acts, ImagesHaveNoGradient) {
  EXPECT_NE(idleness({rule_of("1", "meprop", {Product::kDataGradient})}), "");
  EXPECT_EQ(idleness({rule_of("1", "meprop")}), "");
}

// What nobody computes is not approximated either, whatever rules say of it.
TEST(Schedule, NoGradientOfTheImagesIsCounted) {
  const auto gradients = make({rule_of("1::1", "meprop", {Product::kDataGradient})});
  EXPECT_DOUBLE_EQ(gradients.approximated_share(10), 18.0 / 19);
  EXPECT_FALSE(gradients.at(0, 0).dense());
  EXPECT_TRUE(gradients.computed_at(0, 0).dense());
  EXPECT_EQ(gradients.computed_at(1, 0), gradients.at(1, 0));
  EXPECT_EQ(make({rule_of("1", "meprop", {Product::kDataGradient})}).approximated_share(10), 0);
  // Its other products count.
  const auto both = make({rule_of("1", "meprop")});
  EXPECT_DOUBLE_EQ(both.approximated_share(10), 1.0 / 19);
  EXPECT_EQ(both.computed_at(0, 0).of(Product::kDataGradient), Decision::kDense);
  EXPECT_NE(both.computed_at(0, 0).of(Product::kWeightGradient), Decision::kDense);
}

TEST(Acts, AMethodMayLeaveLayersExact) {
  const std::string wide = "meprop:min_channels=32";
  const auto schedule = make({rule_of("1::1", wide)}, "resnet20");
  EXPECT_EQ(approximated(schedule, "resnet20", 0),
            (std::set<int64_t>{7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19}));
  EXPECT_DOUBLE_EQ(schedule.approximated_share(10), 13.0 / 19);
  EXPECT_EQ(idleness({rule_of("1::1", wide)}), "");
  EXPECT_EQ(idleness({rule_of("1:7", wide)}),
            "the schedule approximates nothing in this run: meprop:k=1,min_channels=32 leaves all "
            "layers of rule 1 (layers = \"1:7\") exact");
  // It decides there all the same: what an earlier rule would do is not done.
  EXPECT_NE(idleness({rule_of("2:7", "zero"), rule_of("1:7", wide)}), "");
}

TEST(Acts, AgreesWithANaiveReadingOnRandomRules) {
  std::mt19937 rng(5);
  const auto pick = [&rng](int64_t low, int64_t high) {
    return std::uniform_int_distribution<int64_t>(low, high)(rng);
  };
  int idle = 0;
  for (int trial = 0; trial < 1000; ++trial) {
    std::vector<Rule> rules;
    for (int64_t n = pick(1, 3); n > 0; --n) {
      auto rule = rule_of(fmt::format("{}:{}", pick(1, 3), pick(4, 9)), pick(0, 1) ? "dense" : "");
      rule.steps = fmt::format("{}::{}", pick(0, 3), pick(1, 40));
      const int64_t from = pick(60, 110);
      rule.from = fmt::format("{}ba", from);
      rule.until = fmt::format("{}ba", from + pick(1, 50));
      rules.push_back(rule);
    }
    const auto schedule = make(rules);
    bool acts = false;
    for (int64_t step = 0; step < 100; ++step) {
      acts |= !approximated(schedule, "resnet20", step).empty();
    }
    EXPECT_EQ(idleness(rules).empty(), acts) << trial << Json(rules).dump();
    idle += !acts;
  }
  EXPECT_GT(idle, 200);
  EXPECT_LT(idle, 800);
}

// Against the plainest reading: every step of the run, product by product.
TEST(RulesTogether, AgreesWithANaiveReadingOnRandomRules) {
  std::mt19937 rng(3);
  const auto pick = [&rng](int64_t low, int64_t high) {
    return std::uniform_int_distribution<int64_t>(low, high)(rng);
  };
  const std::vector<std::string> methods = {
      "", "zero", "dense", "forward_only", "meprop", "sampler:mode=backward"};
  int contradictions = 0;
  for (int trial = 0; trial < 1000; ++trial) {
    std::vector<Rule> rules;
    for (int64_t n = pick(2, 4); n > 0; --n) {
      auto rule = rule_of(fmt::format("{}::{}", pick(1, 19), pick(1, 2)), methods[pick(0, 5)]);
      rule.steps = fmt::format("{}::{}", pick(0, 2), pick(1, 3));
      const int64_t from = pick(0, 60);
      rule.from = fmt::format("{}ba", from);
      rule.until = fmt::format("{}ba", from + pick(1, 50));
      rules.push_back(rule);
    }
    const auto schedule = make(rules, "resnet20", "sampler");
    bool expected = false;
    const auto& all = schedule.methods();
    const auto both = std::find(all.begin(), all.end(), "sampler:mode=both") - all.begin();
    for (size_t layer = 0; layer < layers_of("resnet20").size(); ++layer) {
      for (int64_t step = 0; step < 100; ++step) {
        const auto of = schedule.at(layer, step).method;
        const auto sampled = std::count(of.begin(), of.end(), static_cast<int>(both));
        expected |= sampled != 0 && sampled != 3;
      }
    }
    EXPECT_EQ(!contradiction(rules).empty(), expected) << trial << Json(rules).dump();
    contradictions += expected;
  }
  EXPECT_GT(contradictions, 50);
  EXPECT_LT(contradictions, 500);
}

}  // namespace
}  // namespace approx
