// Trainings with a batch source: what they train on, remember and save.
#include "core/train/selected_batches.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <set>

#include "base/digest.h"
#include "core/networks/network.h"
#include "core/train/evaluation.h"
#include "core/train/session.h"
#include "kernels/rng.h"
#include "tests/core/train/repeating_recorder.h"
#include "tests/core/train/toy_events.h"
#include "tests/testing.h"

namespace approx {
namespace {

const LoadedDataset& chosen_from() {
  static const LoadedDataset dataset = toy_dataset();
  return dataset;
}

RunConfig selecting(const std::string& selection, int64_t epochs = 3) {
  auto config = toy_run("dense", "", epochs);
  config.selection = selection;
  return config;
}

// Every source, and parameters of theirs that lead another way.
std::vector<std::string> every_text() {
  std::vector<std::string> texts = {"infobatch:score=norm", "infobatch:delta=0.3",
                                    "proxy_selection:proxy=small_cnn(width=2),every=1",
                                    "proxy_selection:trains_on=all"};
  for (const auto* entry : Registry<SelectionEntry>::instance().all()) texts.push_back(entry->name);
  return texts;
}

std::string saved_hash(const Session& session) { return sha256_hex(encode(session.save())); }

void expect_equal_parameters(const Session& a, const Session& b) {
  const auto of_a = a.network().parameters(), of_b = b.network().parameters();
  ASSERT_EQ(of_a.size(), of_b.size());
  for (size_t i = 0; i < of_a.size(); ++i) EXPECT_TRUE(at::equal(of_a[i], of_b[i])) << i;
}

std::string said_by(const std::function<void()>& call) {
  try {
    call();
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

class EverySelection : public ::testing::TestWithParam<std::string> {};

// Stopped before the first epoch's end, at it, behind it, and in the third epoch.
TEST_P(EverySelection, GoesOnBitForBit) {
  auto config = selecting(GetParam());
  config.recipe.crop_padding = 1;
  config.recipe.flip = true;
  config.recipe.flip_order = FlipOrder::kAlternating;
  constexpr int64_t kSteps = 33;
  const auto train = [&](Session& session, int64_t steps) {
    Evaluation evaluation(config, chosen_from(), session);
    for (int64_t i = 0; i < steps; ++i) {
      session.step();
      if (session.steps_done() % 7 == 0) evaluation.score(session.split().holdout);
    }
  };
  Session straight(config, chosen_from());
  ASSERT_EQ(straight.steps_per_epoch(), 14);
  train(straight, kSteps);
  const std::string wanted = saved_hash(straight);
  Session second(config, chosen_from());
  for (const int64_t stop : {0, 5, 14, 19, 31}) {
    std::string bytes;
    {
      Session first(config, chosen_from());
      train(first, stop);
      bytes = encode(first.save());
      first.step();  // lost
    }
    second.restore(decode(bytes));  // also over what it did before
    train(second, kSteps - stop);
    EXPECT_EQ(saved_hash(second), wanted) << "stopped after step " << stop;
  }
  config.seed = 1;
  Session other(config, chosen_from());
  train(other, kSteps);
  EXPECT_NE(saved_hash(other), wanted) << "the test could not fail";
}

TEST_P(EverySelection, TrainsCapturedStepsAsOthers) {
  const auto config = selecting(GetParam());
  Session plain(config, chosen_from()), captured(config, chosen_from());
  Repetitions seen;
  captured.capture_steps(std::make_unique<RepeatingRecorder>(seen));
  for (int step = 0; step < 40; ++step) {
    plain.step();
    captured.step();
  }
  expect_equal_parameters(plain, captured);
  EXPECT_GT(seen.replayed, 20);
  EXPECT_TRUE(seen.differences.empty()) << seen.differences.front();
}

TEST_P(EverySelection, BeginsWithTheWeightsOfExactTraining) {
  const auto config = selecting(GetParam());
  auto exact = config;
  exact.selection.clear();
  expect_equal_parameters(Session(config, chosen_from()), Session(exact, chosen_from()));
}

TEST_P(EverySelection, TimesOrSaysWhyNot) {
  auto config = selecting(GetParam());
  config.purpose = Purpose::kTiming;
  config.blocks = 1;
  config.block_steps = 2;
  const auto& entry = Registry<SelectionEntry>::instance().find(parse_spec(GetParam()).name);
  if (entry.after_an_epoch) {
    EXPECT_NE(said_by([&] { events_of(config); }).find("a timing run is too short"),
              std::string::npos);
    return;
  }
  const auto events = events_of(config);
  EXPECT_EQ(of_kind(events, "block").size(), 2);
  EXPECT_EQ(events.back().at("state"), "finished");
}

TEST_P(EverySelection, TrainsInBf16) {
  auto config = selecting(GetParam());
  config.precision = Precision::kBf16;
  Session session(config, chosen_from());
  for (int step = 0; step < 16; ++step) session.step();
  EXPECT_TRUE(std::isfinite(session.take_mean_loss()));
}

INSTANTIATE_TEST_SUITE_P(Selections, EverySelection, ::testing::ValuesIn(every_text()),
                         [](const auto& info) {
                           std::string name = info.param;
                           for (char& c : name) c = std::isalnum(c) != 0 ? c : '_';
                           return name;
                         });

NetworkInput input_of_images() {
  const auto& dataset = chosen_from();
  return {dataset.train.channels, dataset.train.height, dataset.classes};
}

SelectedBatches selected_of(const RunConfig& config, const Split& split,
                            const NetworkInput& input) {
  return {config, chosen_from(), split.train, input, 16, 14};
}

// The memory after each step, held to the losses in double precision.
TEST(SelectedBatches, RememberTheLossTheNormOrTheMarginOfEachExample) {
  const auto logits = at::randn({6, 4}) * 2;
  const auto labels = at::tensor({0, 3, 1, 1, 2, 0}, at::kLong);
  const std::vector<int64_t> ids = {7, 0, 12, 3, 5, 11};
  auto config = selecting("infobatch");
  config.recipe.label_smoothing = 0.2;
  const auto split = split_dataset(chosen_from(), config, at::kCPU);
  const NetworkInput input = input_of_images();
  std::vector<double> losses, norms;
  double sum = 0;
  for (int64_t i = 0; i < 6; ++i) {
    double whole = 0;
    for (int64_t c = 0; c < 4; ++c) whole += std::exp(logits[i][c].item<double>());
    double loss = 0, squares = 0;
    for (int64_t c = 0; c < 4; ++c) {
      const double p = std::exp(logits[i][c].item<double>()) / whole;
      const double wanted = 0.2 / 4 + (labels[i].item<int64_t>() == c ? 0.8 : 0);
      loss -= wanted * std::log(p);
      squares += (p - wanted) * (p - wanted);
    }
    losses.push_back(loss);
    norms.push_back(std::sqrt(squares));
    sum += loss;
  }
  for (const std::string text : {"infobatch", "infobatch:score=norm", "batch_threshold"}) {
    SCOPED_TRACE(text);
    config.selection = text;
    auto selected = selected_of(config, split, input);
    const Batch batch{.x = {}, .labels = labels, .ids = at::tensor(ids)};
    EXPECT_NEAR(selected.loss(logits, batch, /*remember=*/false).item<double>(), sum / 6, 1e-5);
    auto memory = selected.state().at(0).second;
    EXPECT_TRUE(memory.isnan().all().item<bool>()) << "nothing was to be remembered";
    selected.loss(logits, batch, /*remember=*/true);
    for (int64_t id = 0; id < memory.numel(); ++id) {
      const auto at = std::ranges::find(ids, id);
      const double value = memory[id].item<double>();
      if (at == ids.end()) {
        EXPECT_TRUE(std::isnan(value)) << id;
        continue;
      }
      const auto i = static_cast<size_t>(at - ids.begin());
      const double wanted = text == "infobatch"         ? losses[i]
                            : text == "batch_threshold" ? losses[i] - sum / 6
                                                        : norms[i];
      EXPECT_NEAR(value, wanted, 1e-5) << id;
    }
  }
}

TEST(SelectedBatches, WeightTheLossesAndTheirGradients) {
  const auto config = selecting("infobatch");
  const auto split = split_dataset(chosen_from(), config, at::kCPU);
  auto selected = selected_of(config, split, input_of_images());
  const auto logits = at::randn({3, 5}).requires_grad_(true);
  const std::vector<double> weights = {2, 0.5, 1};
  const auto labels = at::tensor({4, 0, 2}, at::kLong);
  const Batch batch{.x = {},
                    .labels = labels,
                    .ids = at::tensor({1, 2, 3}, at::kLong),
                    .weights = at::tensor(weights).to(at::kFloat)};
  const auto loss = selected.loss(logits, batch, /*remember=*/true);
  loss.backward();
  double wanted = 0;
  for (int64_t i = 0; i < 3; ++i) {
    double whole = 0;
    for (int64_t c = 0; c < 5; ++c) whole += std::exp(logits[i][c].item<double>());
    const double weight = weights[static_cast<size_t>(i)];
    const int64_t label = labels[i].item<int64_t>();
    wanted += weight * (std::log(whole) - logits[i][label].item<double>()) / 3;
    for (int64_t c = 0; c < 5; ++c) {
      const double p = std::exp(logits[i][c].item<double>()) / whole;
      EXPECT_NEAR(logits.grad()[i][c].item<double>(), weight * (p - (c == label ? 1 : 0)) / 3,
                  1e-6);
    }
  }
  EXPECT_NEAR(loss.item<double>(), wanted, 1e-5);
}

// Batches of an exact training and of a random half of it: the same images, alike augmented.
TEST(SelectedBatches, ASourceTakesItsExamplesFromTheCandidatesOfTheStep) {
  auto config = selecting("random_subset:ratio=0.5");
  const auto split = split_dataset(chosen_from(), config, at::kCPU);
  Batches whole(split.train, chosen_from(), config), half(split.train, chosen_from(), config);
  auto selected = selected_of(config, split, input_of_images());
  half.follow([&](int64_t epoch, const auto& order) { return selected.plan(epoch, order); },
              selected.weighs());
  for (int64_t step = 0; step < 30; ++step) {
    const auto all = whole.at(step), kept = half.at(step);
    ASSERT_EQ(kept.x.size(0), 8);
    EXPECT_TRUE(at::equal(kept.x, all.x.narrow(0, 0, 8))) << step;
    EXPECT_TRUE(at::equal(kept.labels, all.labels.narrow(0, 0, 8)));
    EXPECT_TRUE(at::equal(split.train.labels.index_select(0, kept.ids), kept.labels));
    EXPECT_FALSE(kept.weights.defined());
    EXPECT_FALSE(all.ids.defined());
  }
}

// A step that scores its candidates leaves the network as it found it.
TEST(SelectedBatches, ScoringChangesNothing) {
  const auto config = selecting("selective_backprop");
  const auto split = split_dataset(chosen_from(), config, at::kCPU);
  const NetworkInput input = input_of_images();
  auto selected = selected_of(config, split, input);
  const auto network = make_network(config.network, input, 0);
  network->train();
  Batches batches(split.train, chosen_from(), config);
  batches.follow([&](int64_t epoch, const auto& order) { return selected.plan(epoch, order); },
                 selected.weighs());
  std::vector<at::Tensor> before;
  for (const auto& buffer : network->buffers()) before.push_back(buffer.clone());
  const auto candidates = batches.at(0);
  const auto chosen = selected.chosen(candidates, 0, *network, 0.1);
  EXPECT_EQ(candidates.x.size(0), 16);
  EXPECT_EQ(chosen.x.size(0), 8);
  EXPECT_TRUE(chosen.x.is_contiguous(at::MemoryFormat::ChannelsLast));
  EXPECT_TRUE(network->is_training());
  for (size_t i = 0; i < before.size(); ++i) {
    EXPECT_TRUE(at::equal(network->buffers()[i], before[i])) << i;
  }
  // By the draws of the step, from the losses of a network that evaluates.
  network->eval();
  const at::NoGradGuard no_grad;
  const auto losses = at::cross_entropy_loss(network->forward(candidates.x), candidates.labels, {},
                                             at::Reduction::None);
  const Rng rng{.seed = 0, .layer = 1, .step = 0, .stream = kSelectionStream};
  std::vector<std::pair<double, int64_t>> keys;
  for (int64_t i = 0; i < 16; ++i) {
    int64_t rank = 0;
    for (int64_t j = 0; j < 16; ++j) {
      const double mine = losses[i].item<double>(), other = losses[j].item<double>();
      rank += other < mine || (other == mine && j < i);
    }
    const double chance = (static_cast<double>(rank) + 0.5) / 16;  // to the power of 1
    const double draw = Rng::uniform(rng.block(static_cast<uint32_t>(i / 4))[size_t(i % 4)]);
    keys.emplace_back(-std::log(chance) + std::log(-std::log(draw)), i);
  }
  std::ranges::sort(keys);
  for (size_t i = 0; i < 8; ++i) {
    EXPECT_EQ(chosen.ids[static_cast<int64_t>(i)].item<int64_t>(),
              candidates.ids[keys[i].second].item<int64_t>());
  }
  EXPECT_FALSE(at::equal(selected.chosen(candidates, 1, *network, 0.1).ids, chosen.ids))
      << "another step has other draws";
}

class TrainedOn : public ::testing::TestWithParam<std::string> {};

// The small network trains in every second step on the candidates that its losses choose, or on
// all.
TEST_P(TrainedOn, AProxyTrainsByTheRecipe) {
  auto config = selecting("proxy_selection:proxy=small_cnn(width=3),every=2,ratio=0.25,trains_on=" +
                          GetParam());
  const auto split = split_dataset(chosen_from(), config, at::kCPU);
  const NetworkInput input = input_of_images();
  auto selected = selected_of(config, split, input);
  const auto proxy = make_network("small_cnn:width=3", input, 0);
  proxy->train();
  const auto network = make_network(config.network, input, 0);
  Batches batches(split.train, chosen_from(), config);
  batches.follow([&](int64_t epoch, const auto& order) { return selected.plan(epoch, order); },
                 selected.weighs());
  std::vector<NamedTensor> parameters;
  for (const auto& item : proxy->named_parameters()) {
    parameters.emplace_back(item.key(), item.value());
  }
  const auto optimizer = make_optimizer(config.recipe, parameters);
  EXPECT_EQ(selected.period(), 2);
  EXPECT_EQ(selected.take_proxy_loss(), std::nullopt);
  double sum = 0;
  for (int64_t step = 0; step < 6; ++step) {
    const auto candidates = batches.at(step);
    const auto losses = at::cross_entropy_loss(proxy->forward(candidates.x), candidates.labels, {},
                                               at::Reduction::None);
    sum += losses.mean().item<double>();
    std::vector<std::pair<double, int64_t>> sorted;
    for (int64_t i = 0; i < 16; ++i) sorted.emplace_back(-losses[i].item<double>(), i);
    std::ranges::sort(sorted);
    if (step % 2 == 0) {
      auto loss = losses.mean();
      if (GetParam() == "kept") {
        loss = at::zeros({});
        for (size_t i = 0; i < 4; ++i) loss = loss + losses[sorted[i].second] / 4;
      }
      optimizer->zero_grad();
      loss.backward();
      optimizer->step(0.05);
    }
    const auto chosen = selected.chosen(candidates, step, *network, 0.05);
    ASSERT_EQ(chosen.ids.numel(), 4);
    for (size_t i = 0; i < 4; ++i) {
      EXPECT_EQ(chosen.ids[static_cast<int64_t>(i)].item<int64_t>(),
                candidates.ids[sorted[i].second].item<int64_t>())
          << "step " << step;
    }
  }
  EXPECT_NEAR(selected.take_proxy_loss().value(), sum / 6, 1e-5);
  EXPECT_EQ(selected.take_proxy_loss(), std::nullopt) << "it was taken";
}

INSTANTIATE_TEST_SUITE_P(SelectedBatches, TrainedOn, ::testing::Values("kept", "all"),
                         [](const auto& info) { return info.param; });

// Choices by losses that are no numbers are those of no selection.
TEST(SelectedBatches, ATrainingEndsWhoseSmallNetworkDiverges) {
  // At such a rate numbers of a network with norms stay finite, and those without do not.
  auto config = selecting("proxy_selection:proxy=mnist_mlp,every=1");
  config.recipe.learning_rate = 1e5;
  const auto events = events_of(config);
  const auto is_proxy_loss = [](const Json& event) { return event.at("name") == "proxy_loss"; };
  EXPECT_EQ(std::ranges::count_if(of_kind(events, "metric"), is_proxy_loss), 1);
  EXPECT_EQ(events.back().at("state"), "diverged");
  EXPECT_EQ(events.back().at("diverged_layer"), "the small network of the selection");
}

// A block of a timing has whole periods of the small network's steps.
TEST(SelectedBatches, AProxyHasAPeriod) {
  auto config = selecting("proxy_selection:every=3");
  EXPECT_EQ(Session(config, chosen_from()).period(), 3);
  EXPECT_EQ(Session(selecting("selective_backprop"), chosen_from()).period(), 1);
}

// A batch lacks some of the low losses. Its weights give the mean of all candidates.
TEST(SelectedBatches, TheMarginIsThatOfTheWeightedMean) {
  const auto config = selecting("batch_threshold");
  const auto split = split_dataset(chosen_from(), config, at::kCPU);
  auto selected = selected_of(config, split, input_of_images());
  const auto logits = at::tensor({2.0F, 0.0F, 0.0F, 0.0F}).view({2, 2});
  const Batch batch{.x = {},
                    .labels = at::tensor({0, 1}, at::kLong),
                    .ids = at::tensor({4, 9}, at::kLong),
                    .weights = at::tensor({1.5F, 0.5F})};
  selected.loss(logits, batch, /*remember=*/true);
  const double low = std::log1p(std::exp(-2.0)), high = std::log(2.0);
  const double mean = 0.75 * low + 0.25 * high;
  const auto memory = selected.state().at(0).second;
  EXPECT_NEAR(memory[4].item<double>(), low - mean, 1e-6);
  EXPECT_NEAR(memory[9].item<double>(), high - mean, 1e-6);
}

// With everything kept and nothing weighted, a step is that of exact training, but for the rounding
// of a mean.
TEST(SelectedBatches, ASourceThatKeepsAllTrainsExactly) {
  auto exact = selecting("");
  for (const std::string text : {"random_subset:ratio=1", "infobatch:r=0", "batch_threshold:r=0"}) {
    SCOPED_TRACE(text);
    auto config = exact;
    config.selection = text;
    Session a(exact, chosen_from()), b(config, chosen_from());
    for (int step = 0; step < 20; ++step) {
      a.step();
      b.step();
    }
    const auto of_a = a.network().parameters(), of_b = b.network().parameters();
    for (size_t i = 0; i < of_a.size(); ++i) EXPECT_CLOSE(of_a[i], of_b[i]);
  }
}

TEST(SelectedBatches, InfobatchTrainsOnFewerExamplesFromTheSecondEpochOn) {
  auto config = selecting("infobatch:r=0.9,delta=1", 8);
  Session session(config, chosen_from());
  const auto kept = [&] {
    session.step();
    return session.save().state.at("selection").at("per_step").get<int64_t>();
  };
  for (int step = 0; step < 14; ++step) EXPECT_EQ(kept(), 16);
  for (int step = 0; step < 28; ++step) {
    const auto now = kept();
    EXPECT_LT(now, 16);
    EXPECT_GE(now, 1);
  }
}

TEST(SelectedBatches, SayWhatIsWrong) {
  auto config = selecting("random_subset:ratio=0.05");
  EXPECT_EQ(
      said_by([&] { Session(config, chosen_from()); }),
      "selection = random_subset:ratio=0.05 may keep none of the 16 candidates of a step; let "
      "it keep more, or use a larger batch_size");
  config = selecting("random_subset:ratio=0.5");
  config.recipe.ghost_batch = 8;
  EXPECT_EQ(said_by([&] { Session(config, chosen_from()); }),
            "recipe.ghost_batch = 8 must be below the 8 examples that selection = "
            "random_subset:ratio=0.5 may leave a step, or 0 for all of them");
  config = selecting("infobatch");
  config.ranks = 2;
  EXPECT_EQ(said_by([&] { check(config); }),
            "selection = infobatch needs ranks = 1: each rank would remember its own examples "
            "alone");
  config = selecting("infobatch");
  config.operators = OperatorSet::kLibrary;
  EXPECT_EQ(
      said_by([&] { check(config); }),
      "selection = infobatch is already timed against exact training; leave out timed_against "
      "and operators");

  // A checkpoint of other data, another source, or with an example twice.
  config = selecting("infobatch");
  Session session(config, chosen_from());
  for (int step = 0; step < 3; ++step) session.step();
  auto checkpoint = session.save();
  auto other = toy_dataset();
  other.sha256 = "another";
  Session on_other(config, other);
  EXPECT_EQ(said_by([&] { on_other.restore(checkpoint); }),
            "the checkpoint's memory of examples is of another data set; delete the checkpoint to "
            "begin anew");
  config.selection = "batch_threshold";
  Session by_other(config, chosen_from());
  EXPECT_EQ(said_by([&] { by_other.restore(checkpoint); }),
            "the checkpoint's memory of examples is of another selection; delete the checkpoint to "
            "begin anew");
  for (auto& [name, tensor] : checkpoint.tensors) {
    if (name == "selection:ids") tensor = at::zeros_like(tensor);
  }
  Session again(selecting("infobatch"), chosen_from());
  EXPECT_EQ(said_by([&] { again.restore(checkpoint); }),
            "the checkpoint is damaged: selection = infobatch: epoch 0 has example 0 twice; let "
            "plan() keep each once");
}

}  // namespace
}  // namespace approx
