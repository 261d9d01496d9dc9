// Sessions of several ranks that train together.
#include <torch/torch.h>

#include <algorithm>
#include <mutex>
#include <utility>

#include "core/networks/network.h"
#include "core/train/evaluation.h"
#include "core/train/session.h"
#include "tests/core/parallel/as_on_device.h"
#include "tests/core/parallel/thread_collectives.h"
#include "tests/core/train/toy_events.h"

namespace approx {
namespace {

// Weights are drawn from LibTorch's one generator, which threads must not use at once.
std::unique_ptr<Session> session_of(const RunConfig& config, const LoadedDataset& dataset,
                                    std::shared_ptr<Collectives> ranks) {
  static std::mutex one_at_a_time;
  const std::lock_guard lock(one_at_a_time);
  return std::make_unique<Session>(config, dataset, std::move(ranks));
}

at::Tensor weights_of(Session& session) {
  std::vector<at::Tensor> flat;
  for (const auto& parameter : session.network().parameters()) {
    flat.push_back(parameter.detach().flatten().clone());
  }
  return at::cat(flat);
}

// That two ranks come to what one process comes to, in 20 steps.
void expect_ranks_train_as_one(const RunConfig& config) {
  const auto dataset = toy_dataset();
  Session alone(config, dataset);
  const auto before = weights_of(alone);
  for (int step = 0; step < 20; ++step) alone.step();
  const double loss = alone.take_mean_loss();
  const auto score = Evaluation(config, dataset, alone).score(alone.split().test);
  std::vector<at::Tensor> weights(2);
  as_ranks(2, [&](const std::shared_ptr<ThreadCollectives>& ranks) {
    const auto own = session_of(config, dataset, ranks);
    Session& session = *own;
    for (int step = 0; step < 20; ++step) session.step();
    weights[static_cast<size_t>(ranks->world().rank)] = weights_of(session);
    EXPECT_NEAR(session.take_mean_loss(), loss, 1e-5);
    const auto found = Evaluation(config, dataset, session).score(session.split().test);
    EXPECT_NEAR(found.accuracy, score.accuracy, 1e-3);
    EXPECT_NEAR(found.loss, score.loss, 1e-3);
  });
  EXPECT_TRUE(at::equal(weights[0], weights[1]));
  EXPECT_TRUE(close(weights[0], weights_of(alone), 1e-4));
  EXPECT_GT((weights_of(alone) - before).abs().max().item<double>(), 0.05);
}

TEST(Session, TwoProcessesTrainAsOneDoes) {
  auto config = toy_config();
  config.network = "mnist_mlp:hidden=8,dropout=0";  // a batch norm sees the share of its process
  expect_ranks_train_as_one(config);
}

TEST(Session, TwoProcessesWithSynchronisedNormsTrainAsOneDoes) {
  auto config = toy_config();  // of four batch norms
  config.norm_statistics = NormScope::kSynchronised;
  expect_ranks_train_as_one(config);
}

// Which branches are stopped follows from the seed and the step, so ranks need not agree on it.
TEST(Session, TwoProcessesStopTheSameBranches) {
  for (const auto* method : {"block_skip", "block_skip:rescale=true"}) {
    auto config = toy_config(method, "random_steps:p=0.5");
    config.network = "resnet14";
    config.norm_statistics = NormScope::kSynchronised;
    const auto dataset = toy_dataset();
    Session alone(config, dataset);
    constexpr int kSteps = 6;
    for (int step = 0; step < kSteps; ++step) alone.step();
    std::vector<at::Tensor> weights(2);
    std::vector<std::vector<bool>> stopped(2);
    as_ranks(2, [&](const std::shared_ptr<ThreadCollectives>& ranks) {
      const auto own = session_of(config, dataset, ranks);
      const auto rank = static_cast<size_t>(ranks->world().rank);
      for (int step = 0; step < kSteps; ++step) {
        own->step();
        for (const auto* branch : own->network().branches()) {
          stopped[rank].push_back(branch->orders.stopped);
        }
      }
      weights[rank] = weights_of(*own);
    });
    EXPECT_EQ(stopped[0], stopped[1]);
    EXPECT_EQ(std::ranges::count(stopped[0], true) > 0, true);
    EXPECT_EQ(std::ranges::count(stopped[0], false) > 0, true);
    EXPECT_TRUE(at::equal(weights[0], weights[1]));
    EXPECT_TRUE(close(weights[0], weights_of(alone), 2e-3));
  }
}

// All ranks freeze the same layers, and send nothing of what they do not train.
TEST(Session, TwoProcessesFreezeTheSameLayers) {
  auto config = toy_config("freeze_layers", "slice:layers=1:3,from=4ba");
  config.norm_statistics = NormScope::kSynchronised;
  expect_ranks_train_as_one(config);
  config.schedule = make_schedule("slice:layers=1:3,ranks=0");
  const auto dataset = toy_dataset();
  as_ranks(2, [&](const std::shared_ptr<ThreadCollectives>& ranks) {
    EXPECT_THROW(session_of(config, dataset, ranks), Error);
  });
}

TEST(Session, LocalNormsSeeTheirShareAlone) {
  const auto dataset = toy_dataset();
  const auto config = toy_config();
  Session alone(config, dataset);
  for (int step = 0; step < 20; ++step) alone.step();
  as_ranks(2, [&](const std::shared_ptr<ThreadCollectives>& ranks) {
    const auto own = session_of(config, dataset, ranks);
    Session& session = *own;
    for (int step = 0; step < 20; ++step) session.step();
    EXPECT_FALSE(close(weights_of(session), weights_of(alone), 1e-2));
  });
}

// Each of two ranks normalises its half of the batch by itself.
TEST(Session, PartsOfABatchTrainAsRanksWithNormsOfTheirOwn) {
  const auto dataset = toy_dataset();
  auto config = toy_config();
  const auto of_two = config;
  config.recipe.ghost_batch = config.batch_size / 2;
  for (const auto operators : {OperatorSet::kBest, OperatorSet::kLibrary}) {
    config.operators = operators;
    Session alone(config, dataset);
    for (int step = 0; step < 20; ++step) alone.step();
    const auto score = Evaluation(config, dataset, alone).score(alone.split().test);
    as_ranks(2, [&](const std::shared_ptr<ThreadCollectives>& ranks) {
      const auto own = session_of(of_two, dataset, ranks);
      for (int step = 0; step < 20; ++step) own->step();
      EXPECT_TRUE(close(weights_of(*own), weights_of(alone), 1e-4));
      const auto found = Evaluation(of_two, dataset, *own).score(own->split().test);
      EXPECT_NEAR(found.loss, score.loss, 1e-3) << "running statistics";
    });
  }
}

// Whatever the number of ranks a method leaves out the same share, and ranks together do what one
// does.
TEST(Session, RanksCountTheProductsOfTheirShare) {
  const auto dataset = toy_dataset();
  const auto config = toy_config("topk_weights:ratio=0.5", "slice");
  const auto done = [](const std::vector<Json>& events) {
    double dense = 0, macs = 0;
    for (const auto& event : events) {
      if (event["event"] != "layer") continue;
      dense += event["macs_dense"].get<double>();
      macs += event["macs_done"].get<double>();
    }
    return std::pair(dense, macs);
  };
  Session alone(config, dataset);
  alone.step();
  const auto [dense, macs] = done(alone.layer_events());
  ASSERT_LT(macs, 0.9 * dense);
  as_ranks(2, [&, dense = dense, macs = macs](const std::shared_ptr<ThreadCollectives>& ranks) {
    const auto own = session_of(config, dataset, ranks);
    own->step();
    const auto [own_dense, own_macs] = done(own->layer_events());
    EXPECT_DOUBLE_EQ(2 * own_dense, dense);
    EXPECT_DOUBLE_EQ(2 * own_macs, macs);
  });
}

// Batch norms see their share, so running statistics differ until they are averaged.
TEST(Session, RanksHaveOneStateAfterEachStep) {
  const auto dataset = toy_dataset();
  const auto config = toy_config();
  std::vector<Checkpoint> states(2);
  as_ranks(2, [&](const std::shared_ptr<ThreadCollectives>& ranks) {
    const auto own = session_of(config, dataset, ranks);
    Session& session = *own;
    for (int step = 0; step < 5; ++step) session.step();
    states[static_cast<size_t>(ranks->world().rank)] = session.save();
  });
  size_t buffers = 0;
  ASSERT_EQ(states[0].tensors.size(), states[1].tensors.size());
  for (const auto& [name, tensor] : states[0].tensors) {
    EXPECT_TRUE(at::equal(tensor, states[1].tensor(name))) << name;
    buffers += name.starts_with("buffer:");
  }
  EXPECT_GT(buffers, 0u) << "nothing that could differ";
}

// Rank 0's weights after so many steps more, and its checkpoint of them.
std::pair<Checkpoint, at::Tensor> reached_by(int64_t size, const RunConfig& config, int steps,
                                             const Checkpoint* from = nullptr) {
  const auto dataset = toy_dataset();
  std::pair<Checkpoint, at::Tensor> reached;
  as_ranks(size, [&](const std::shared_ptr<ThreadCollectives>& ranks) {
    const auto own = session_of(config, dataset, ranks);
    Session& session = *own;
    if (from != nullptr) session.restore(*from);
    for (int step = 0; step < steps; ++step) session.step();
    const auto saved = session.save();
    if (ranks->world().rank == 0) reached = {saved, weights_of(session)};
  });
  return reached;
}

// Plain gradient descent with one step from the same weights: what each rank that computes a
// layer's weight gradient would do with it, averaged.
TEST(Session, AWeightGoesByTheRanksThatComputeItsGradient) {
  const auto dataset = toy_dataset();
  auto config = toy_config();
  config.method = "zero";
  config.recipe.optimizer = UpdateRule::kSgd;
  config.recipe.momentum = 0;
  config.recipe.weight_decay = 0;
  config.norm_statistics = NormScope::kSynchronised;
  const auto moved = [&](const std::vector<Rule>& rules) {
    config.schedule = rules;
    std::vector<at::Tensor> weights(4);
    as_ranks(4, [&](const std::shared_ptr<ThreadCollectives>& ranks) {
      const auto session = session_of(config, dataset, ranks);
      const auto before = weights_of(*session);
      session->step();
      weights[static_cast<size_t>(ranks->world().rank)] = weights_of(*session) - before;
    });
    EXPECT_TRUE(at::equal(weights[0], weights[1]));
    EXPECT_TRUE(at::equal(weights[0], weights[3]));
    return weights[0];
  };
  const auto of_all = moved({{.layers = "2", .steps = "1::1000"}});
  at::Tensor mean = at::zeros_like(of_all);
  for (const char* freeze : {"false", "true"}) {
    mean.zero_();
    for (int64_t rank = 0; rank < 4; ++rank) {
      const auto without = moved({{.layers = "2",
                                   .method = fmt::format("zero:freeze={}", freeze),
                                   .ranks = fmt::format("{}", rank)}});
      EXPECT_FALSE(close(without, of_all, 1e-3)) << rank;
      mean += without / 4;
    }
    EXPECT_TRUE(close(mean, of_all, 1e-5)) << "each left out once: " << freeze;
  }
}

// A checkpoint has the memory of the whole batch, put together from all ranks.
TEST(Session, RefusesAMemoryThatSomeRanksAloneWouldHave) {
  const auto dataset = toy_dataset();
  auto config = toy_config();
  config.method = "msbp";
  as_ranks(2, [&](const std::shared_ptr<ThreadCollectives>& ranks) {
    auto own = config;
    own.schedule = {{.layers = "2", .ranks = "0"}};
    EXPECT_THROW(session_of(own, dataset, ranks), Error);
    own.schedule = {{.layers = "2", .ranks = "0:2"}};
    EXPECT_NO_THROW(session_of(own, dataset, ranks));
  });
}

// Of a replay the host sees nothing: here it does nothing at all.
TEST(Session, WhatRanksSendInReplaysIsCounted) {
  class Silent final : public StepRecorder {
    std::unique_ptr<RecordedStep> record(const std::function<void()>& step) override {
      struct Nothing final : RecordedStep {
        void replay() override {}
      };
      step();
      return std::make_unique<Nothing>();
    }
  };
  const auto dataset = toy_dataset();
  const auto config = toy_config("topk_weights:ratio=0.5", "slice:steps=::2");
  as_ranks(2, [&](const std::shared_ptr<ThreadCollectives>& ranks) {
    std::vector<std::vector<Json>> sent;
    for (const bool captured : {false, true}) {
      const auto on_device = std::make_shared<AsOnDevice>(ranks);
      const auto session = session_of(config, dataset, on_device);
      if (captured) session->capture_steps(std::make_unique<Silent>());
      for (int step = 0; step < 12; ++step) session->step();
      EXPECT_GE(on_device->watched, 12) << "after each step";
      auto& events = sent.emplace_back();
      for (const auto& event : session->layer_events()) {
        if (event["event"] == "traffic") events.push_back(event);
      }
      if (!captured) continue;
      EXPECT_EQ(session->graph_report()->steps.at("replayed"), 8);
    }
    EXPECT_FALSE(sent[0].empty());
    EXPECT_EQ(sent[0], sent[1]);
  });
}

TEST(Session, SendsTheSampledChannelsOfAMethodThatGoesByWeights) {
  const auto dataset = toy_dataset();
  auto config = toy_config();
  config.method = "topk_weights:ratio=0.5";
  config.schedule = make_schedule("slice:layers=2");
  const auto layer = [&](const std::string& method) {
    config.method = method;
    Json sent;
    std::string name;
    as_ranks(2, [&](const std::shared_ptr<ThreadCollectives>& ranks) {
      const auto session = session_of(config, dataset, ranks);
      for (int step = 0; step < 3; ++step) session->step();
      if (ranks->world().rank != 0) return;
      name = session->network().layers().at(1)->info.name;
      for (const auto& event : session->layer_events()) {
        if (event["event"] == "traffic" && event["layer"] == name) sent = event;
      }
    });
    return sent;
  };
  const auto sampled = layer("topk_weights:ratio=0.5");
  EXPECT_EQ(sampled["calls"], 3);
  EXPECT_EQ(sampled["bytes"].get<int64_t>() * 2, sampled["bytes_dense"].get<int64_t>());
  const auto drawn = layer("uniform_crs:ratio=0.5");
  EXPECT_EQ(drawn["bytes_dense"], sampled["bytes_dense"]);
  EXPECT_GT(drawn["bytes"], sampled["bytes"]);
  const auto zero = layer("zero");
  EXPECT_EQ(zero["bytes"], 0);
  EXPECT_EQ(zero["bytes_dense"], sampled["bytes_dense"]);
}

TEST(Session, ACheckpointOfRanksIsOneOfAnyNumber) {
  auto config = toy_config();
  config.norm_statistics = NormScope::kSynchronised;
  const auto half = reached_by(2, config, 6).first;
  const auto whole = reached_by(2, config, 12).second;
  EXPECT_TRUE(at::equal(reached_by(2, config, 6, &half).second, whole));
  for (const int64_t size : {1, 4}) {
    EXPECT_TRUE(close(reached_by(size, config, 6, &half).second, whole, 1e-4)) << size;
  }
}

// What a method remembers of each image is in the checkpoint of all, and each takes its own again.
TEST(Session, RanksGoOnWithWhatTheirMethodsRemember) {
  const auto config = toy_config("msbp:ratio=0.1", "slice:layers=2");
  const auto half = reached_by(2, config, 6).first;
  EXPECT_TRUE(at::equal(reached_by(2, config, 6, &half).second, reached_by(2, config, 12).second));
  EXPECT_TRUE(std::ranges::any_of(half.tensors, [&](const auto& named) {
    return named.first.starts_with("memory:") && named.second.size(0) == config.batch_size;
  }));
}

}  // namespace
}  // namespace approx
