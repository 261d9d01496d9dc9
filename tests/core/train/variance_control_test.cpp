// The controller of vcas: its arithmetic, what it measures, and what it does to a training.
#include "core/train/variance_control.h"

#include <ATen/ATen.h>
#include <torch/csrc/autograd/autograd.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "core/networks/network.h"
#include "core/train/gradient_variance.h"
#include "core/train/scheduled_layers.h"
#include "core/train/session.h"
#include "tests/core/train/same_training.h"
#include "tests/core/train/toy_events.h"
#include "tests/core/train/toy_run.h"
#include "tests/testing.h"

namespace approx {
namespace {

using Norms = std::vector<double>;

TEST(VarianceControl, KeepsTheFewestExamplesWithTheShareOfTheNorms) {
  EXPECT_EQ(examples_with(1, {1, 1, 1, 1}), 1);
  EXPECT_EQ(examples_with(0.75, {1, 1, 1, 1}), 0.75);
  EXPECT_EQ(examples_with(0.74, {1, 1, 1, 1}), 0.75);
  EXPECT_EQ(examples_with(0.5, {1, 7, 0.5, 1.5}), 0.25);
  EXPECT_EQ(examples_with(0.8, {1, 7, 0.5, 1.5}), 0.5);
  EXPECT_EQ(examples_with(0, {1, 2}), 0.5) << "at least one";
  EXPECT_EQ(examples_with(1, {0, 3, 0, 2}), 0.5) << "those without a gradient are not needed";
  EXPECT_EQ(examples_with(1, {0, 0, 0}), 1) << "nothing is known";
  // By plain loops over all sizes of a sample.
  for (int seed = 0; seed < 20; ++seed) {
    at::manual_seed(seed);
    Norms norms;
    for (int i = 0; i < 9; ++i) norms.push_back(at::rand({}).item<double>());
    auto falling = norms;
    std::ranges::sort(falling, std::greater<>());
    const double sum = std::accumulate(norms.begin(), norms.end(), 0.0);
    for (const double share : {0.2, 0.55, 0.9, 0.99}) {
      size_t kept = 1;
      while (std::accumulate(falling.begin(), falling.begin() + static_cast<long>(kept), 0.0) <
             share * sum) {
        ++kept;
      }
      EXPECT_EQ(examples_with(share, norms), static_cast<double>(kept) / 9) << share;
    }
  }
}

LayerVariance layer_of(const std::string& name, std::vector<std::vector<Norms>> norms) {
  return {.layer = name, .norms = std::move(norms)};
}

// With shares of norms that can be read off: ten examples of equal norm have 0.1 of the sum each.
TEST(VarianceControl, FollowsTheVariance) {
  const Norms even(100, 1.0);
  const std::map<std::string, ExampleRatios> before = {{"a", {.examples = 1, .weights = 0.8}}};
  VarianceControl control(0.025);
  const auto update = [&](double examples, double weights) {
    auto layer = layer_of("a", {{even}, {even}});
    layer.batches = 4;
    layer.weights = weights;
    control.update({.batches = 2, .examples = examples, .layers = {layer}}, before);
    return control.ratios().at("a");
  };
  EXPECT_EQ(control.share(), 1);
  auto ratios = update(0.05, 0.1);  // both just at the tolerance
  EXPECT_DOUBLE_EQ(control.share(), 0.99);
  EXPECT_DOUBLE_EQ(ratios.examples, 0.99);
  EXPECT_DOUBLE_EQ(ratios.weights, 0.8 * 0.95);
  ratios = update(0, 0.11);
  EXPECT_DOUBLE_EQ(ratios.examples, 0.98);
  EXPECT_DOUBLE_EQ(ratios.weights, 0.8 / 0.95);
  ratios = update(0.051, 0);
  EXPECT_DOUBLE_EQ(ratios.examples, 0.99) << "too much variance: more examples stay";
  for (int i = 0; i < 3; ++i) ratios = update(1, 0);
  EXPECT_EQ(control.share(), 1);
  EXPECT_EQ(ratios.examples, 1);
  for (int i = 0; i < 120; ++i) ratios = update(0, 0);
  EXPECT_EQ(control.share(), 0);
  EXPECT_DOUBLE_EQ(ratios.examples, 0.01);
}

TEST(VarianceControl, RatiosRiseWithTheDepth) {
  // At the share 0.99: all four, then one of four, then two of four in one of two gradients.
  const Norms all = {1, 1, 1, 1}, one = {1, 0, 0, 0}, two = {1, 1, 0, 0};
  std::map<std::string, ExampleRatios> before;
  for (const auto* name : {"first", "second", "third", "fourth"}) before[name] = {};
  VarianceControl control(1);
  const auto ratio_of = [&](const std::string& name) { return control.ratios().at(name).examples; };
  control.update(
      {.batches = 1,
       .layers = {layer_of("first", {{one}, {one}}), layer_of("second", {{two}, {one}}),
                  layer_of("third", {{one}, {one}}), layer_of("fourth", {{one, all}, {two, one}})}},
      before);
  EXPECT_EQ(ratio_of("first"), 0.25);
  EXPECT_EQ(ratio_of("second"), 0.375) << "the mean over the batches";
  EXPECT_EQ(ratio_of("third"), 0.375) << "at least that of the layer before";
  EXPECT_EQ(ratio_of("fourth"), 0.75) << "of two gradients the one that needs more";
  EXPECT_EQ(control.ratios().at("first").weights, 1) << "it takes no second sample";
}

// A layer plans nothing if its products are not computed. Then nothing is known of it.
TEST(VarianceControl, LeavesALayerAloneThatPlannedNothing) {
  std::map<std::string, ExampleRatios> before;
  for (const auto* name : {"first", "second"}) before[name] = {.examples = 0.5, .weights = 0.5};
  VarianceControl control(1);
  control.update(
      {.batches = 1,
       .layers = {layer_of("first", {{}, {}}), layer_of("second", {{{1, 0}}, {{1, 0}}})}},
      before);
  EXPECT_FALSE(control.ratios().contains("first"));
  EXPECT_EQ(control.ratios().at("second").examples, 0.5);
}

TEST(VarianceControl, IsRestored) {
  VarianceControl control(0.5), other(0.5);
  auto layer = layer_of("a", {{{3, 1}}, {{1, 1}}});
  layer.weights = 0;
  const std::map<std::string, ExampleRatios> before = {{"a", {}}};
  control.update({.batches = 1, .layers = {layer}}, before);
  other.restore(Json::parse(control.state().dump()));
  EXPECT_EQ(other.share(), control.share());
  EXPECT_EQ(other.ratios(), control.ratios());
  EXPECT_THROW(other.restore({{"share", 1}}), Json::exception);
}

// --- what is measured ----------------------------------------------------------------------------

// A network whose linear layer samples examples of two batches, and hands the sample down.
struct SampledHead {
  SampledHead() : network(make_network("small_cnn:width=2", {1, 8, 3}, /*seed=*/2)) {
    network->train();
    for (auto* each : network->layers()) make_exact(*each);
    head = network->layers().back();
    for (int64_t i = 0; i < kMeasuredBatches; ++i) {
      at::manual_seed(i);
      x.push_back(at::randn({6, 1, 8, 8}));
      labels.push_back(at::tensor({0, 1, 2, 2, 1, 0}, at::kLong));
    }
    for (const auto& item : network->named_parameters()) {
      names.push_back(item.key());
      parameters.push_back(item.value());
    }
  }

  // The losses of the examples of a batch, as parts of their mean.
  at::Tensor losses(int64_t batch) const {
    const auto at = static_cast<size_t>(batch);
    return at::cross_entropy_loss(network->forward(x[at]), labels[at], {}, at::Reduction::None) / 6;
  }

  std::vector<at::Tensor> gradients(const at::Tensor& loss) const {
    auto each = torch::autograd::grad({loss}, parameters, {}, /*retain_graph=*/true);
    for (auto& gradient : each) gradient = gradient.to(at::kDouble);
    return each;
  }

  std::shared_ptr<Network> network;
  Layer* head;
  std::vector<at::Tensor> x, labels, parameters;
  std::vector<std::string> names;
};

double square_of(const at::Tensor& values) { return values.square().sum().item<double>(); }

// One example's part of the gradient is the gradient of its own loss. The draws are independent, so
// a sample adds the sum of (1/p - 1) times the square of each part. The bias gradient is exact.
TEST(MeasuredVariance, IsThatOfTheChances) {
  constexpr int kRepeats = 400;
  const SampledHead net;
  const auto made = make_method("vcas:ratio=0.5,weight_ratio=0.4,tolerance=1");
  auto& method = dynamic_cast<VarianceControlled&>(*made);
  double between = 0, of_weight = 0, examples = 0, weights = 0;
  std::vector<std::vector<at::Tensor>> exact;
  std::vector<Norms> of_batches;
  for (int64_t batch = 0; batch < kMeasuredBatches; ++batch) {
    const auto losses = net.losses(batch);
    exact.push_back(net.gradients(losses.sum()));
    const auto at = static_cast<size_t>(batch);
    // dY of the layer is the gradient of the logits: (softmax - one hot) / 6.
    const at::NoGradGuard no_grad;
    const auto one_hot = at::one_hot(net.labels[at], 3);
    const auto dy = (at::softmax(net.network->forward(net.x[at]), 1) - one_hot) / 6;
    Norms norms;
    for (int64_t i = 0; i < 6; ++i) norms.push_back(std::sqrt(square_of(dy[i].to(at::kDouble))));
    of_batches.push_back(norms);
  }
  for (size_t p = 0; p < net.parameters.size(); ++p) {
    const double of_parameter = square_of(exact[0][p] - exact[1][p]) / 2;
    between += of_parameter;
    if (net.names[p] == "linear.weight") of_weight = of_parameter;
  }
  for (size_t b = 0; b < of_batches.size(); ++b) {
    const double sum = std::accumulate(of_batches[b].begin(), of_batches[b].end(), 0.0);
    const auto losses = net.losses(static_cast<int64_t>(b));
    for (int64_t i = 0; i < 6; ++i) {
      const double p = 3 * of_batches[b][static_cast<size_t>(i)] / sum;
      ASSERT_LT(p, 1) << "the test takes a chance for a share";
      const auto part = net.gradients(losses[i]);
      for (size_t q = 0; q < part.size(); ++q) {
        if (net.names[q] != "linear.bias") examples += (1 / p - 1) * square_of(part[q]) / 2;
      }
    }
  }

  double mean_examples = 0;
  GradientVariance measured;
  for (int repeat = 0; repeat < kRepeats; ++repeat) {
    measured = measured_variance(
        *net.network, {{.name = "linear", .method = &method, .samples_weights = true}}, at::kCPU,
        [&](const MeasuredPass& pass) {
          method.begin_pass(pass.pass);
          auto& orders = net.head->slot.orders;
          orders.step =
              static_cast<uint64_t>(measured_passes().size()) * static_cast<uint64_t>(repeat) +
              static_cast<uint64_t>(pass.number);
          orders.methods[static_cast<size_t>(Product::kDataGradient)] = made.get();
          orders.methods[static_cast<size_t>(Product::kWeightGradient)] = made.get();
          return net.losses(pass.batch).sum();
        });
    mean_examples += measured.examples / kRepeats;
    weights += measured.layers[0].weights.value_or(0) / kRepeats;
  }
  EXPECT_NEAR(measured.batches, between, 1e-4 * between);
  ASSERT_EQ(measured.layers.size(), 1u);
  EXPECT_NEAR(measured.layers[0].batches, of_weight, 1e-4 * of_weight);
  EXPECT_NEAR(mean_examples, examples, 0.1 * examples);
  EXPECT_GT(weights, 0);
  for (size_t b = 0; b < of_batches.size(); ++b) {
    for (const auto& norms : measured.layers[0].norms.at(b)) {
      ASSERT_EQ(norms.size(), 6u);
      for (size_t i = 0; i < 6; ++i) EXPECT_NEAR(norms[i], of_batches[b][i], 1e-5);
    }
  }
}

// What a second sample would add is known without drawing it: with all examples in the first one,
// by the chances of |dY_i| |X_i|.
TEST(MeasuredVariance, OfASecondSampleIsThatOfItsChances) {
  const auto made = make_method("vcas:ratio=1,weight_ratio=0.5,tolerance=1");
  auto& method = dynamic_cast<VarianceControlled&>(*made);
  auto o = random_operands({4, 3, 1, 5, 1, 1, 0}, /*seed=*/3);
  o.product = Product::kWeightGradient;
  method.begin_pass(VarianceControlled::Pass::kSampled);
  EXPECT_TRUE(std::holds_alternative<Dense>(made->plan(o, {}))) << "it is not drawn";
  Norms scores;
  for (int64_t i = 0; i < 4; ++i) {
    scores.push_back(
        std::sqrt(square_of(o.x[i].to(at::kDouble)) * square_of(o.dy[i].to(at::kDouble))));
  }
  const double sum = std::accumulate(scores.begin(), scores.end(), 0.0);
  double added = 0;
  for (const double score : scores) {
    ASSERT_LT(2 * score, sum);
    added += (sum / (2 * score) - 1) * score * score;
  }
  EXPECT_NEAR(method.take_weight_variance(), added, 1e-5 * added);
  EXPECT_EQ(method.take_weight_variance(), 0) << "it was taken";
  method.begin_pass(VarianceControlled::Pass::kTraining);
  EXPECT_TRUE(std::holds_alternative<Sampled>(made->plan(o, {})));
  EXPECT_EQ(method.take_weight_variance(), 0);
}

// The message of the Error that `action` throws; "": it throws none.
template <typename Action>
std::string message_of(const Action& action) {
  try {
    action();
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

// --- in a training -------------------------------------------------------------------------------

RunConfig controlled_run(const std::string& arguments) {
  auto config = toy_run("vcas:" + arguments, "", /*epochs=*/20);
  config.schedule = {{}};
  return config;
}

TEST(ControlledRatios, AreMeasuredEverySoManySteps) {
  const auto dataset = toy_dataset();
  auto config = controlled_run("tolerance=1000,ratio=0.75,weight_ratio=0.5,every=4");
  config.schedule = {{.layers = "2::1+kind=linear",
                      .products = {Product::kDataGradient, Product::kWeightGradient}}};
  Session session(config, dataset);
  for (int i = 0; i < 4; ++i) session.step();
  EXPECT_TRUE(session.controlled_ratios().empty());
  EXPECT_EQ(session.control_cost()->first, 0);
  for (int measurements = 1; measurements <= 5; ++measurements) {
    session.step();
    const auto ratios = session.controlled_ratios();
    ASSERT_EQ(ratios.size(), 3u);
    EXPECT_FALSE(ratios.contains("conv1")) << "it is exact";
    EXPECT_LE(ratios.at("conv2").examples, ratios.at("conv3").examples);
    EXPECT_LE(ratios.at("conv3").examples, ratios.at("linear").examples);
    EXPECT_DOUBLE_EQ(ratios.at("linear").weights, 0.5 * std::pow(0.95, measurements));
    EXPECT_EQ(ratios.at("conv2").weights, 0.5);
    const auto state = session.save().state.at("control");
    EXPECT_NEAR(state.at("ratios").at("share").get<double>(), 1 - 0.01 * measurements, 1e-12);
    for (const auto* layer : session.network().layers()) {
      const auto* method = layer->slot.orders.of(Product::kWeightGradient);
      if (method == nullptr) continue;
      EXPECT_EQ(dynamic_cast<const VarianceControlled&>(*method).ratios(),
                ratios.at(layer->info.name));
    }
    for (int i = 0; i < 3; ++i) session.step();
  }
  // Six passes of three products each, of what 24 steps compute.
  const auto [passes, saved] = session.control_cost().value();
  EXPECT_GT(passes, 0.5);
  EXPECT_LT(passes, 5 * 6.0 / 24);
  EXPECT_GT(saved, 0);
  EXPECT_LT(saved, 0.5);
}

// The draws of a sample of half add more than nothing, so that all examples stay, which adds
// nothing.
TEST(ControlledRatios, KeepTheVarianceWhereItMayBe) {
  const auto dataset = toy_dataset();
  Session session(controlled_run("tolerance=1e-9,ratio=0.5,every=3"), dataset);
  const auto share = [&] {
    return session.save().state.at("control").at("ratios").at("share").get<double>();
  };
  for (int i = 0; i < 4; ++i) session.step();
  EXPECT_EQ(share(), 1);
  for (const auto& [layer, ratios] : session.controlled_ratios()) EXPECT_EQ(ratios.examples, 1);
  for (int i = 0; i < 3; ++i) session.step();
  EXPECT_NEAR(share(), 0.99, 1e-12);
}

// The first convolution has no data gradient, and at some steps no weight gradient either.
TEST(ControlledRatios, KeepThatOfALayerThatComputesNothing) {
  const auto dataset = toy_dataset();
  auto config = controlled_run("tolerance=1000,ratio=0.5,every=4");
  config.schedule = {{.layers = "::1+kind=linear"},
                     {.layers = "1",
                      .steps = "::2",
                      .products = {Product::kWeightGradient},
                      .method = "zero:freeze=true"}};
  Session session(config, dataset);
  for (int i = 0; i < 30; ++i) session.step();
  const auto ratios = session.controlled_ratios();
  EXPECT_FALSE(ratios.contains("conv1"));
  EXPECT_GT(ratios.at("conv2").examples, 0);
}

// The layers that train at a measured step are those of the step, also where a training goes on
// there: a fresh network's all train.
TEST(ControlledRatios, AreMeasuredWithTheFrozenLayersOfTheirStep) {
  const auto dataset = toy_dataset();
  auto config = controlled_run("tolerance=1,ratio=0.75,every=4");
  config.schedule = {{.layers = "2:"},
                     {.layers = "1", .method = "freeze_layers", .until = "0.5dur"}};
  for (const int64_t at : {8, 140}) {  // frozen, and where it ends
    Session straight(config, dataset), first(config, dataset), second(config, dataset);
    train_both(straight, first, at);
    second.restore(decode(encode(first.save())));
    train_both(straight, second, 2);
    EXPECT_FALSE(straight.controlled_ratios().empty());
    expect_same(straight, second);
  }
}

// As long as all examples stay, nothing shows in the training but the ratios. With dropout it would
// show in later draws if generators were not put back.
TEST(ControlledRatios, LeaveNoTraceOfTheMeasurement) {
  const auto dataset = toy_dataset();
  const auto trained = [&](const std::string& arguments) {
    auto config = controlled_run(arguments);
    config.network = "wide_resnet:depth=10,width=1,dropout=0.3";
    Session session(config, dataset);
    for (int i = 0; i < 9; ++i) session.step();
    for (const auto& [layer, ratios] : session.controlled_ratios()) {
      EXPECT_EQ(ratios.examples, 1) << "the test compares nothing";
    }
    EXPECT_EQ(session.controlled_ratios().empty(), !arguments.starts_with("tolerance"));
    return session.save().tensors;
  };
  const auto left = trained("tolerance=1e-9,ratio=1,every=6"), right = trained("ratio=1");
  ASSERT_EQ(left.size(), right.size());
  for (size_t i = 0; i < left.size(); ++i) {
    ASSERT_EQ(left[i].first, right[i].first);
    EXPECT_TRUE(at::equal(left[i].second, right[i].second)) << left[i].first;
  }
}

// At a step whose schedule leaves the method out nothing can be measured: the next one does.
TEST(ControlledRatios, WaitForAStepOfTheMethod) {
  const auto dataset = toy_dataset();
  auto config = controlled_run("tolerance=1,every=2");
  config.schedule = {{.steps = "1::2"}};
  Session session(config, dataset);
  for (int i = 0; i < 3; ++i) session.step();
  EXPECT_TRUE(session.controlled_ratios().empty()) << "step 2 is exact";
  session.step();
  EXPECT_EQ(session.controlled_ratios().size(), 2u);
}

TEST(ControlledRatios, AreMeasuredAgainWhereAGradientIsNotFinite) {
  const auto dataset = toy_dataset();
  auto config = controlled_run("tolerance=1,every=3");
  config.recipe.learning_rate = 1e30;
  Session session(config, dataset);
  for (int i = 0; i < 5; ++i) session.step();
  EXPECT_NE(session.network().first_bad_parameter(), "");
  EXPECT_TRUE(session.controlled_ratios().empty());
  // One measurement costs less than six of the five steps so far.
  EXPECT_GT(session.control_cost()->first, 1.5) << "steps 3 and 4 have measured";
}

TEST(ControlledRatios, SayWhatTheyCost) {
  const auto short_run = [](const std::string& arguments) {
    auto config = controlled_run(arguments);
    config.recipe.epochs = 5;  // 70 steps
    return config;
  };
  const auto messages = [&](const std::string& arguments) {
    std::vector<std::string> found;
    for (const auto& event : of_kind(events_of(short_run(arguments)), "note")) {
      found.push_back(event["message"]);
    }
    return found;
  };
  const auto dear = messages("tolerance=1,every=2");
  ASSERT_EQ(dear.size(), 1u);
  EXPECT_NE(dear[0].find("its measurements took"), std::string::npos) << dear[0];
  EXPECT_NE(dear[0].find("measure less often (every)"), std::string::npos) << dear[0];
  EXPECT_TRUE(messages("tolerance=1,every=60,ratio=0.25").empty());
  EXPECT_TRUE(messages("ratio=1").empty());

  std::map<std::string, double> metrics;
  const auto config = short_run("tolerance=1,every=40");
  for (const auto& event : of_kind(events_of(config), "metric")) {
    metrics[event["name"].get<std::string>() + " " + event["split"].get<std::string>()] =
        event["value"];
  }
  EXPECT_GT(metrics.at("example_ratio conv2"), 0);
  EXPECT_EQ(metrics.at("weight_ratio conv3"), 1);
  EXPECT_GT(metrics.at("control_work passes"), 0);
  EXPECT_GT(metrics.at("control_work saved"), 0);
}

TEST(ControlledRatios, AreRefusedWhereTheyCannotBeMeasured) {
  const auto dataset = toy_dataset();
  const auto refusal = [&](RunConfig config) {
    return message_of([&] { Session session(config, dataset); });
  };
  auto timing = controlled_run("tolerance=1");
  timing.purpose = Purpose::kTiming;
  EXPECT_NE(refusal(timing).find("too short for ratios"), std::string::npos) << refusal(timing);
  auto chosen = controlled_run("tolerance=1");
  chosen.selection = "random_subset:ratio=0.5";
  EXPECT_NE(refusal(chosen).find("Leave selection"), std::string::npos) << refusal(chosen);
  auto one_batch = controlled_run("tolerance=1");
  one_batch.batch_size = 100000;
  EXPECT_NE(refusal(one_batch).find("an epoch has one"), std::string::npos) << refusal(one_batch);

  const auto late = controlled_run("tolerance=1,every=280");
  EXPECT_NE(refusal(late).find("nothing is measured in 280 steps"), std::string::npos)
      << refusal(late);

  auto early = controlled_run("tolerance=1,every=100");
  early.schedule = {{.steps = ":100"}};
  EXPECT_NE(refusal(early).find("no rule gives this method to a layer from step 100 on"),
            std::string::npos)
      << refusal(early);

  auto two = controlled_run("tolerance=1");
  two.schedule = {{.layers = "1"}, {.layers = "2", .method = "vcas:tolerance=2"}};
  EXPECT_NE(refusal(two).find("controls the ratios of one"), std::string::npos) << refusal(two);

  const NetworkInput input{1, 8, 2};
  const auto network = make_network("small_cnn:width=4", input, /*seed=*/1);
  const Schedule schedule(make_schedule("slice:layers=2"), layer_infos(*network, input),
                          "vcas:tolerance=1", library_methods(), 4, 4);
  const auto on_ranks = message_of(
      [&] { ScheduledLayers(network->layers(), schedule, /*seed=*/1, {.rank = 0, .size = 2}); });
  EXPECT_NE(on_ranks.find("one rank only"), std::string::npos) << on_ranks;
}

}  // namespace
}  // namespace approx
