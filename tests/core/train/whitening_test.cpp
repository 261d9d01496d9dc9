#include "core/train/whitening.h"

#include <torch/torch.h>

#include <memory>
#include <mutex>

#include "core/train/session.h"
#include "core/train/weight_average.h"
#include "tests/core/parallel/thread_collectives.h"
#include "tests/core/train/toy_run.h"
#include "tests/testing.h"

namespace approx {
namespace {

// Coloured images of noise, large enough for airbench's poolings.
LoadedDataset coloured_noise(int64_t count) {
  struct Storage {
    std::vector<uint8_t> pixels;
    std::vector<int64_t> labels;
  };
  constexpr int64_t kSide = 10;
  const auto storage = std::make_shared<Storage>();
  const Rng rng{.seed = 11};
  for (int64_t i = 0; i < count; ++i) {
    storage->labels.push_back(i % 3);
    for (int64_t p = 0; p < kSide * kSide; ++p) {
      const auto words = rng.block(static_cast<uint32_t>(i * kSide * kSide + p));
      for (size_t c = 0; c < 3; ++c) {
        storage->pixels.push_back(static_cast<uint8_t>(words[0] % 128 + words[c + 1] % 64));
      }
    }
  }
  LoadedDataset dataset;
  dataset.name = "noise";
  dataset.classes = 3;
  dataset.mean = {0.4, 0.38, 0.36};
  dataset.stddev = {0.2, 0.19, 0.18};
  dataset.train = {count, kSide, kSide, 3, storage->pixels, storage->labels, storage};
  dataset.test = dataset.train;
  return dataset;
}

const LoadedDataset& images() {
  static const LoadedDataset dataset = coloured_noise(64);
  return dataset;
}

RunConfig whitened_config(const std::string& method = "dense", const std::string& schedule = "") {
  auto config = toy_run(method, schedule, 2);
  config.network = "airbench";
  config.dataset = "noise";
  config.batch_size = 8;
  return config;
}

at::Tensor tensor_of(const Session& session, const std::string& name) {
  return session.network().named_parameters()[name].detach().clone();
}

TEST(WhiteningSession, TheFirstStepSetsTheWeightFromTheTrainingImages) {
  Session session(whitened_config(), images());
  const auto drawn = tensor_of(session, "whiten.weight");
  session.step();
  const auto weight = tensor_of(session, "whiten.weight");
  const auto [mean, scale] = pixel_statistics(images(), at::kCPU);
  const auto whole = normalised(session.split().train.pixels, mean, scale);
  EXPECT_LT(whole.size(0), images().train.count) << "some are held out";
  EXPECT_TRUE(at::equal(weight, whitening_weight(whole, 2, {})));
  EXPECT_FALSE(at::allclose(weight, drawn));
  for (int i = 0; i < 3; ++i) session.step();
  EXPECT_TRUE(at::equal(tensor_of(session, "whiten.weight"), weight));
  EXPECT_TRUE(tensor_of(session, "whiten.bias").ne(0).any().item<bool>());
}

TEST(WhiteningSession, ATrainingThatGoesOnKeepsTheWeightOfItsCheckpoint) {
  Session straight(whitened_config(), images());
  for (int i = 0; i < 5; ++i) straight.step();
  for (const int stop : {0, 2}) {
    Session first(whitened_config(), images()), second(whitened_config(), images());
    for (int i = 0; i < stop; ++i) first.step();
    second.restore(decode(encode(first.save())));
    while (second.steps_done() < 5) second.step();
    EXPECT_EQ(encode(second.save()), encode(straight.save())) << "stopped after " << stop;
  }
  // Not even computed: another weight stays.
  Session first(whitened_config(), images()), second(whitened_config(), images());
  first.step();
  auto checkpoint = first.save();
  const auto other = at::full_like(tensor_of(first, "whiten.weight"), 0.25);
  for (auto& [name, tensor] : checkpoint.tensors) {
    if (name == "parameter:whiten.weight") tensor = other;
  }
  second.restore(checkpoint);
  second.step();
  EXPECT_TRUE(at::equal(tensor_of(second, "whiten.weight"), other));
}

TEST(WhiteningSession, AllRanksHaveOneWeight) {
  Session alone(whitened_config(), images());
  alone.step();
  std::mutex one_at_a_time;  // weights are drawn from one generator
  as_ranks(2, [&](const std::shared_ptr<ThreadCollectives>& ranks) {
    std::unique_ptr<Session> session;
    {
      const std::lock_guard lock(one_at_a_time);
      session = std::make_unique<Session>(whitened_config(), images(), ranks);
    }
    for (int i = 0; i < 2; ++i) session->step();
    EXPECT_TRUE(at::equal(tensor_of(*session, "whiten.weight"), tensor_of(alone, "whiten.weight")));
    EXPECT_TRUE(tensor_of(*session, "whiten.bias").ne(0).any().item<bool>());
  });
}

TEST(WhiteningSession, MethodsLeaveTheFrozenLayerAlone) {
  Session session(whitened_config("exact", "slice:layers=1::1"), images());
  session.step();
  double dense = 0;
  bool acts = false;
  for (const auto& event : session.layer_events()) {
    if (event["event"] != "layer") continue;
    SCOPED_TRACE(event.dump());
    acts |= event["layer"] == "group1.conv1" && event["method"] == "exact";
    if (event["layer"] != "whiten") continue;
    EXPECT_EQ(event["method"], "dense");
    EXPECT_EQ(event["product"], "forward") << "no gradient is computed";
    dense += event["macs_dense"].get<double>();
  }
  EXPECT_TRUE(acts);
  EXPECT_EQ(dense, 8 * 9 * 9 * 24 * 12);
}

TEST(WhiteningSession, AnAverageOfTheWeightsLeavesTheFrozenOneOut) {
  auto config = whitened_config();
  config.recipe.ema = 0.99;
  Session session(config, images());
  for (int i = 0; i < 2; ++i) session.step();
  const auto weight = tensor_of(session, "whiten.weight");
  const auto bias = tensor_of(session, "whiten.bias");
  session.average()->swap();
  EXPECT_TRUE(at::equal(tensor_of(session, "whiten.weight"), weight));
  EXPECT_FALSE(at::equal(tensor_of(session, "whiten.bias"), bias));
  session.average()->swap();
}

TEST(WhiteningSession, RefusesTooFewImagesBeforeItTrains) {
  const auto network = make_network("airbench", {3, 10, 3}, 0);
  DeviceImages none{at::zeros({0, 10, 10, 3}, at::kByte), at::zeros({0}, at::kLong), nullptr};
  EXPECT_THROW(check_whitening(*network, none), Error);
  DeviceImages photographs{{}, at::zeros({4}, at::kLong), std::make_shared<PhotoRows>()};
  EXPECT_THROW(check_whitening(*network, photographs), Error);
}

}  // namespace
}  // namespace approx
