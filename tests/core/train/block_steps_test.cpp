// What steps do to the branches that a schedule stops.
#include <torch/csrc/autograd/autograd.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "core/networks/network.h"
#include "core/train/operand_probe.h"
#include "core/train/session.h"
#include "tests/core/train/repeating_recorder.h"
#include "tests/core/train/same_training.h"
#include "tests/core/train/toy_run.h"
#include "tests/testing.h"

namespace approx {
namespace {

RunConfig skipping_run(const std::string& method, const std::vector<Rule>& rules) {
  auto config = toy_run(method, "", /*epochs=*/20);
  config.network = "resnet14";
  config.schedule = rules;
  config.recipe.momentum = 0.9;
  config.recipe.weight_decay = 1e-3;
  config.recipe.clip_norm = 100;
  return config;
}

std::map<std::string, at::Tensor> saved_tensors(const Session& session) {
  std::map<std::string, at::Tensor> tensors;
  for (const auto& [name, tensor] : session.save().tensors) tensors[name] = tensor.clone();
  return tensors;
}

// As under zero:freeze=true, neither momentum nor decay moves a parameter without a gradient. The
// running statistics are those of an exact forward pass.
TEST(BlockSteps, LeaveTheParametersOfAStoppedBranchAlone) {
  const auto dataset = toy_dataset();
  for (const auto update : all_of_enum<UpdateRule>()) {
    auto config = skipping_run("block_skip", {{.layers = "block=stage2_*", .steps = "3::1"}});
    config.recipe.optimizer = update;
    if (update == UpdateRule::kAdam) config.recipe.learning_rate = 0.003;
    Session session(config, dataset);
    for (int i = 0; i < 3; ++i) session.step();
    const auto before = saved_tensors(session);
    session.step();
    int64_t still = 0, moved = 0;
    for (const auto& [name, tensor] : saved_tensors(session)) {
      const bool of_parameter = name.starts_with("parameter:") || name.starts_with("optimizer:");
      if (!of_parameter && !name.starts_with("buffer:")) continue;
      const bool stopped = of_parameter && name.find("stage2_") != std::string::npos;
      const bool same = at::equal(tensor, before.at(name));
      EXPECT_EQ(same, stopped) << name;
      (same ? still : moved) += 1;
    }
    EXPECT_EQ(still, 2 * 6 * (update == UpdateRule::kAdam ? 4 : 2));
    EXPECT_GT(moved, 20);
  }
}

// A stopped branch is counted with the products that it would have had, and computes none of them.
TEST(BlockSteps, CountWhatIsLeftOut) {
  const auto dataset = toy_dataset();
  auto config = skipping_run("block_skip", {{.chance = "0.25"}});
  Session session(config, dataset);
  EXPECT_EQ(session.period(), 64);
  for (int i = 0; i < 64; ++i) session.step();
  std::map<std::pair<std::string, std::string>, int64_t> computed;  // calls of any variant
  std::map<std::string, std::string> blocks;
  for (const auto* layer : session.network().layers()) blocks[layer->info.name] = layer->info.block;
  for (const auto& event : session.layer_events()) {
    if (event["event"] != "variant") continue;
    computed[{event["layer"], event["product"]}] += event["calls"].get<int64_t>();
  }
  int64_t stopped = 0;
  for (const auto& event : session.layer_events()) {
    if (event["event"] != "layer") continue;
    const std::string layer = event["layer"], product = event["product"];
    SCOPED_TRACE(layer + " " + product);
    const bool skips = !blocks.at(layer).empty() && product != "forward";
    const int64_t calls = computed[{layer, product}];
    EXPECT_EQ(event["exact_calls"], skips ? 48 : 64);
    EXPECT_EQ(calls, skips ? 48 : 64);
    if (event["method"] == "dense") continue;
    ++stopped;
    EXPECT_TRUE(skips);
    EXPECT_EQ(event["method"], "block_skip:rescale=false");
    EXPECT_EQ(event["calls"], 16);
    EXPECT_EQ(event["macs_done"], 0);
    EXPECT_GT(event["macs_dense"], 0);
  }
  EXPECT_EQ(stopped, 2 * 12);
  EXPECT_NEAR(session.approximated_share(), 0.25 * 12 / 13, 0.02);
}

// The gradient behind a kept branch is scaled, and only there.
TEST(BlockSteps, ScaleTheGradientsOfKeptBranches) {
  const auto dataset = toy_dataset();
  const auto orders = [&](const std::string& method, const std::string& chance, int64_t steps) {
    auto config = skipping_run(method, {{.layers = "block=stage[12]_*", .chance = chance}});
    Session session(config, dataset);
    std::map<std::string, std::vector<BranchOrders>> seen;
    for (int64_t i = 0; i < steps; ++i) {
      session.step();
      for (const auto* branch : session.network().branches()) {
        seen[branch->block].push_back(branch->orders);
      }
    }
    return seen;
  };
  const auto plain = orders("block_skip", "0.25", 64);
  const auto scaled = orders("block_skip:rescale=true", "0.25", 64);
  for (const auto& [block, list] : scaled) {
    const bool drawn = !block.starts_with("stage3");
    double sum = 0;
    for (size_t i = 0; i < list.size(); ++i) {
      EXPECT_EQ(list[i].stopped, plain.at(block)[i].stopped);
      EXPECT_EQ(plain.at(block)[i].scale, 1);
      if (!list[i].stopped) {
        EXPECT_DOUBLE_EQ(list[i].scale, drawn ? 4.0 / 3 : 1);
      }
      sum += list[i].stopped ? 0 : list[i].scale;
    }
    EXPECT_NEAR(sum, 64, 1e-9) << "the mean gradient is the exact one: " << block;
  }
}

// Another method may have the branch's layers at the other steps.
TEST(BlockSteps, GoTogetherWithOtherMethods) {
  const auto dataset = toy_dataset();
  const auto config = skipping_run("mixed", {{.layers = "kind=conv3x3", .method = "zero"},
                                             {.method = "block_skip", .chance = "0.5"}});
  Session session(config, dataset);
  for (int i = 0; i < 64; ++i) session.step();
  std::map<std::string, int64_t> calls;  // of weight gradients in the blocks, by method
  for (const auto& event : session.layer_events()) {
    if (event["event"] != "layer" || event["product"] != "weight_gradient") continue;
    if (event["layer"].get<std::string>().find("block") == std::string::npos) continue;
    if (event["method"] != "dense") calls[event["method"]] += event["calls"].get<int64_t>();
  }
  EXPECT_EQ(calls, (std::map<std::string, int64_t>{{"block_skip:rescale=false", 12 * 32},
                                                   {"zero:freeze=false", 12 * 32}}));
}

// Steps of one pattern are one row: 64 at most, each captured once and replayed.
TEST(BlockSteps, ReplayedTrainAsAny) {
  const auto dataset = toy_dataset();
  for (const auto* method : {"block_skip", "block_skip:rescale=true"}) {
    SCOPED_TRACE(method);
    auto config =
        skipping_run(method, {{.layers = "block=stage1_*+block=stage3_block1", .chance = "0.5"}});
    config.batch_size = 8;
    Session plain(config, dataset), captured(config, dataset);
    Repetitions seen;
    captured.capture_steps(std::make_unique<RepeatingRecorder>(seen));
    train_both(plain, captured, 70);
    expect_same(plain, captured);
    EXPECT_TRUE(seen.differences.empty()) << seen.differences[0];
    const auto report = captured.graph_report();
    EXPECT_EQ(report->rows, 8) << "three branches, each stopped or not";
    EXPECT_EQ(report->graphs, 8);
    EXPECT_GT(report->steps.at("replayed"), 70 - 8 * 3);
  }
}

// What is recorded between two steps is of an exact pass, and the next step stops what it would.
TEST(BlockSteps, AreNotInWhatIsRecordedBetweenThem) {
  const auto dataset = toy_dataset();
  const auto config = skipping_run("block_skip", {{.layers = "block=stage2_*"}});
  Session session(config, dataset), plain(config, dataset);
  train_both(session, plain, 2);
  for (const auto& [info, operands] : record_exact_pass(session)) {
    EXPECT_TRUE(operands.dy.defined()) << info.name;
  }
  train_both(session, plain, 1);
  expect_same(session, plain);
}

// --- rates by sensitivity ------------------------------------------------------------------------

// A training of 28 steps, measured before the third.
RunConfig measured_run(const std::string& method, const std::string& layers,
                       const std::string& rates = "sensitivity") {
  auto config = skipping_run(method, {{.layers = layers, .chance = "0.5", .rates = rates}});
  config.recipe.epochs = 2;
  return config;
}

std::map<std::string, double> measured(const Session& session) {
  const auto state = session.save().state;
  if (!state.contains("sensitivities")) return {};
  return state["sensitivities"].get<std::map<std::string, double>>();
}

// By another session that stands where the first one measures: gradients of its next loss, with one
// branch stopped after another.
TEST(BlockSteps, MeasureWhatTheGradientLosesWithoutEachBlock) {
  const auto dataset = toy_dataset();
  const auto config = measured_run("block_skip", "::1");
  Session session(config, dataset), twin(config, dataset);
  ASSERT_EQ(session.total_steps() / 10, 2);
  train_both(session, twin, 2);
  EXPECT_TRUE(measured(session).empty());
  session.step();
  const auto found = measured(session);
  const auto branches = twin.network().branches();
  ASSERT_EQ(found.size(), branches.size());
  const auto norms = [&](const BranchImpl* stopped) {
    for (auto* branch : branches) branch->orders = {.stopped = branch == stopped};
    const auto gradients = torch::autograd::grad({twin.next_loss()}, twin.network().parameters(),
                                                 {}, std::nullopt, false, /*allow_unused=*/true);
    std::vector<double> each;
    for (const auto& gradient : gradients) {
      each.push_back(gradient.defined() ? gradient.to(at::kDouble).norm().item<double>() : 0);
    }
    return each;
  };
  const auto exact = norms(nullptr);
  for (const auto* branch : branches) {
    const auto without = norms(branch);
    double sum = 0;
    for (size_t i = 0; i < exact.size(); ++i) sum += std::pow(exact[i] - without[i], 2);
    EXPECT_GT(sum, 0) << branch->block;
    EXPECT_NEAR(found.at(branch->block), sum, 1e-4 * sum) << branch->block;
  }
}

// Every round then stops each block as often as its rate says, and leaves out half of the work.
TEST(BlockSteps, StopBlocksAtTheirMeasuredRates) {
  const auto dataset = toy_dataset();
  Session session(measured_run("block_skip:rescale=true", "::1"), dataset);
  EXPECT_TRUE(session.block_rates().empty());
  while (session.steps_done() < 64) session.step();
  const auto rates = session.block_rates();
  std::map<std::string, int64_t> stopped, macs;
  for (const auto* layer : session.network().layers()) {
    if (!layer->info.block.empty()) macs[layer->info.block] += layer->info.macs;
  }
  for (int i = 0; i < 64; ++i) {
    session.step();
    for (const auto* branch : session.network().branches()) {
      stopped[branch->block] += branch->orders.stopped;
    }
  }
  ASSERT_EQ(rates.size(), macs.size());
  double left_out = 0, all = 0;
  bool unlike = false;
  for (const auto& [block, rate] : rates) {
    EXPECT_EQ(static_cast<double>(stopped.at(block)), 64 * rate) << block;
    left_out += rate * static_cast<double>(macs.at(block));
    all += static_cast<double>(macs.at(block));
    unlike |= rate != 0.5;
  }
  EXPECT_TRUE(unlike) << "the test could not fail";
  EXPECT_NEAR(left_out / all, 0.5, 1.0 / 64);
  for (const auto* branch : session.network().branches()) {
    if (branch->orders.stopped) continue;
    const auto rate =
        std::ranges::find(rates, branch->block, &std::pair<std::string, double>::first);
    EXPECT_DOUBLE_EQ(branch->orders.scale, 1 / (1 - rate->second));
  }
}

// One block alone gets the chance of the rule, so that nothing but the measurement is added. With
// dropout it would show in later draws if generators were not put back.
TEST(BlockSteps, LeaveNoTraceOfTheMeasurement) {
  const auto dataset = toy_dataset();
  const auto trained = [&](RunConfig config) {
    Session session(config, dataset);  // draws from its seed on
    for (int i = 0; i < 28; ++i) session.step();
    EXPECT_EQ(measured(session).size(), config.schedule[0].rates.empty() ? 0u : 1u);
    return std::pair(saved_tensors(session), session.layer_events());
  };
  for (const auto* network : {"resnet14", "wide_resnet:depth=10,width=1,dropout=0.3"}) {
    SCOPED_TRACE(network);
    auto config = measured_run("block_skip", "block=stage2_block1");
    config.network = network;
    const auto [left, left_events] = trained(config);
    config.schedule[0].rates = "";
    const auto [right, right_events] = trained(config);
    ASSERT_EQ(left.size(), right.size());
    for (const auto& [name, tensor] : left) EXPECT_TRUE(at::equal(tensor, right.at(name))) << name;
    EXPECT_EQ(left_events, right_events);
  }
}

// Steps that were captured before are captured anew.
TEST(BlockSteps, ReplayedMeasureAsAny) {
  const auto dataset = toy_dataset();
  auto config = measured_run("block_skip", "block=stage1_*");
  config.batch_size = 8;
  config.recipe.epochs = 30;  // measured before the 80th step
  Session plain(config, dataset), captured(config, dataset);
  Repetitions seen;
  captured.capture_steps(std::make_unique<RepeatingRecorder>(seen));
  train_both(plain, captured, plain.total_steps() / 10 + 40);
  EXPECT_EQ(measured(captured).size(), 2u);
  expect_same(plain, captured);
  EXPECT_TRUE(seen.differences.empty()) << seen.differences[0];
}

TEST(BlockSteps, MeasureAgainWhereAGradientIsNotFinite) {
  const auto dataset = toy_dataset();
  auto config = measured_run("block_skip", "::1");
  config.recipe.clip_norm = 0;
  config.recipe.learning_rate = 1e30;
  Session session(config, dataset);
  for (int i = 0; i < 6; ++i) session.step();
  EXPECT_NE(session.network().first_bad_parameter(), "");
  EXPECT_TRUE(measured(session).empty());
  EXPECT_TRUE(session.block_rates().empty());
}

}  // namespace
}  // namespace approx
