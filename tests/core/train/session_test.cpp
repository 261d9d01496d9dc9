#include "core/train/session.h"

#include <torch/torch.h>

#include <cmath>

#include "core/networks/network.h"
#include "core/train/evaluation.h"
#include "core/train/operand_probe.h"
#include "tests/core/train/toy_events.h"

namespace approx {
namespace {

TEST(Session, EvaluatesByTheAverageAndTrainsOnWithoutIt) {
  const auto dataset = toy_dataset();
  auto config = toy_config();
  Session plain(config, dataset);
  Evaluation of_plain(config, dataset, plain);
  config.recipe.ema = 0.999;
  Session averaged(config, dataset);
  Evaluation of_averaged(config, dataset, averaged);
  for (int i = 0; i < 6; ++i) {
    plain.step();
    averaged.step();
    const auto a = of_plain.score(plain.split().test), b = of_averaged.score(plain.split().test);
    EXPECT_NE(a.loss, b.loss) << "step " << i;
  }
  const auto a = plain.network().parameters(), b = averaged.network().parameters();
  for (size_t i = 0; i < a.size(); ++i) EXPECT_TRUE(at::equal(a[i], b[i])) << i;
}

// Channels that training leaves out are missing in its statistics. Evaluation by other ones leaves
// the training as it is.
TEST(Session, EvaluatesByStatisticsTakenAnewAndTrainsOnAsBefore) {
  const auto dataset = toy_dataset();
  auto config = toy_config("topk_crs:ratio=0.5", "slice:layers=1::1");
  Session plain(config, dataset);
  Evaluation of_plain(config, dataset, plain);
  config.recipe.norm_examples = 100;
  Session renewing(config, dataset);
  Evaluation of_renewing(config, dataset, renewing);
  for (int i = 0; i < 6; ++i) {
    plain.step();
    renewing.step();
    const auto a = of_plain.score(plain.split().test);
    const auto b = of_renewing.score(renewing.split().test);
    EXPECT_NE(a.loss, b.loss) << "step " << i;
    EXPECT_EQ(of_renewing.score(renewing.split().test).loss, b.loss) << "step " << i;
  }
  EXPECT_TRUE(renewing.network().is_training());
  const auto a = plain.network().parameters(), b = renewing.network().parameters();
  for (size_t i = 0; i < a.size(); ++i) EXPECT_TRUE(at::equal(a[i], b[i])) << i;

  // Of these weights, also where others were evaluated at the same step.
  config.recipe.learning_rate *= 2;
  Session other(config, dataset);
  while (other.steps_done() < 7) other.step();
  renewing.step();
  const auto before = Evaluation(config, dataset, other).score(other.split().test);
  other.restore(renewing.save());
  const auto after = Evaluation(config, dataset, other).score(other.split().test);
  EXPECT_NE(after.loss, before.loss);
  EXPECT_EQ(after.loss, of_renewing.score(renewing.split().test).loss);
}

TEST(Session, RecordingLeavesTheTrainingAsItWas) {
  const auto dataset = toy_dataset();
  auto config = toy_config("zero", "slice:steps=::2");
  config.network = "wide_resnet:depth=10,width=1,dropout=0.3";  // batch norms, and draws
  const auto trained = [&](bool records) {
    Session session(config, dataset);
    for (int step = 0; step < 4; ++step) {
      if (records && step == 2) {
        EXPECT_FALSE(record_exact_pass(session).empty());
      }
      session.step();
    }
    for (const auto* layer : session.network().layers()) {
      EXPECT_EQ(layer->slot.orders.norm_follows, layer->info.norm_follows) << layer->info.name;
    }
    return session.save();
  };
  const auto plain = trained(false), recorded = trained(true);
  EXPECT_EQ(recorded.state, plain.state);
  ASSERT_EQ(recorded.tensors.size(), plain.tensors.size());
  for (const auto& [name, tensor] : plain.tensors) {
    EXPECT_TRUE(at::equal(recorded.tensor(name), tensor)) << name;
  }
}

TEST(Session, FlippingAtTestTimeSeesBothSides) {
  auto dataset = toy_dataset();
  auto config = toy_config();
  config.recipe.test_flip = true;
  Session session(config, dataset);
  for (int i = 0; i < 6; ++i) session.step();
  const auto& test = session.split().test;
  const DeviceImages mirrored{test.pixels.flip(2), test.labels};
  Evaluation flipping(config, dataset, session);
  EXPECT_NEAR(flipping.score(test).loss, flipping.score(mirrored).loss, 1e-6);
  config.recipe.test_flip = false;
  Session without(config, dataset);
  for (int i = 0; i < 6; ++i) without.step();
  Evaluation plain(config, dataset, without);
  EXPECT_GT(std::abs(plain.score(test).loss - plain.score(mirrored).loss), 1e-5);
}

// The published weights of the views, in plain loops over images: 1/4 for the image and its mirror
// image, 1/8 for each of the two crops and of theirs.
TEST(Session, ShiftingAtTestTimeSeesThreeCrops) {
  const auto dataset = toy_dataset();
  for (const bool flips : {false, true}) {
    auto config = toy_config();
    config.recipe.test_flip = flips;
    config.recipe.test_shift = 2;
    Session session(config, dataset);
    for (int i = 0; i < 6; ++i) session.step();
    const auto& test = session.split().test;
    const auto score = Evaluation(config, dataset, session).score(test);

    const at::NoGradGuard no_grad;
    const auto [mean, scale] = pixel_statistics(dataset, at::kCPU);
    const auto x = normalised(test.pixels, mean, scale);
    const int64_t count = x.size(0), side = x.size(2);
    auto& network = session.network();
    network.eval();
    const auto view = [&](int64_t shift, bool mirrored) {
      const auto moved = at::empty_like(x);
      const auto from = [&](int64_t at) {
        return at < 0 ? -at : at < side ? at : 2 * side - 2 - at;
      };
      for (int64_t i = 0; i < side; ++i) {
        for (int64_t j = 0; j < side; ++j) {
          moved.select(2, i)
              .select(2, mirrored ? side - 1 - j : j)
              .copy_(x.select(2, from(i + shift)).select(2, from(j + shift)));
        }
      }
      return network.forward(moved).to(at::kDouble);
    };
    at::Tensor logits = at::zeros({count, dataset.classes}, at::kDouble);
    for (const bool mirrored : {false, true}) {
      if (mirrored && !flips) continue;
      const double share = flips ? 0.5 : 1;
      logits += share * (view(0, mirrored) / 2 + (view(-2, mirrored) + view(2, mirrored)) / 4);
    }
    EXPECT_NEAR(score.loss, at::cross_entropy_loss(logits, test.labels).item<double>(), 1e-5);
    EXPECT_EQ(score.accuracy,
              logits.argmax(1).eq(test.labels).to(at::kDouble).mean().item<double>());
    const double centre = at::cross_entropy_loss(view(0, false), test.labels).item<double>();
    EXPECT_GT(std::abs(score.loss - centre), 1e-4) << "the test could not fail";
  }
}

// On 8x8 images; the convolutions of this network have biases.
RunConfig biased_config() {
  auto config = toy_config();
  config.network = "mnist_cnn:dropout=0";
  config.recipe.weight_decay = 0.01;
  config.recipe.first_bias_epochs = 1;
  return config;
}

TEST(Session, TheFirstBiasTrainsInTheFirstEpochsAlone) {
  const auto dataset = toy_dataset();
  const auto config = biased_config();
  Session session(config, dataset);
  auto all = config;
  all.recipe.first_bias_epochs = 0;
  Session whole(all, dataset);
  const auto parameters = session.network().named_parameters();
  const auto& bias = parameters["conv1.bias"];
  for (int64_t step = 0; step < session.steps_per_epoch() + 4; ++step) {
    const auto before = bias.detach().clone();
    const auto weight = parameters["conv1.weight"].detach().clone();
    session.step();
    whole.step();
    const bool trains = step < session.steps_per_epoch();
    EXPECT_NE(at::equal(bias, before), trains) << step;
    EXPECT_EQ(bias.grad().defined(), trains) << step << ": a gradient that nobody needs";
    EXPECT_FALSE(at::equal(parameters["conv1.weight"], weight)) << step;
    EXPECT_EQ(at::equal(bias, whole.network().named_parameters()["conv1.bias"]), trains) << step;
  }
  auto without = config;
  without.network = "small_cnn:width=4";
  try {
    Session(without, dataset);
    FAIL() << "was taken";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kUsage);
    EXPECT_STREQ(error.what(),
                 "recipe.first_bias_epochs = 1: the first convolution of small_cnn:width=4 has no "
                 "bias; set it to 0");
  }
}

TEST(Session, RefusesAGhostBatchOfANetworkWithoutBatchNorms) {
  const auto dataset = toy_dataset();
  auto config = toy_config();
  config.network = "mnist_mlp:hidden=8,dropout=0";
  config.recipe.ghost_batch = 4;
  try {
    Session(config, dataset);
    FAIL() << "was taken";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kUsage);
    EXPECT_STREQ(error.what(),
                 "recipe.ghost_batch = 4: mnist_mlp:hidden=8,dropout=0 has no batch norm; set it "
                 "to 0");
  }
}

// What each call saw: the gradients, undefined ones included.
class RecordingReduction final : public GradientReduction {
 public:
  explicit RecordingReduction(std::vector<std::vector<NamedTensor>>& calls) : calls_(calls) {}

  void reduce(const std::vector<NamedTensor>& parameters) override {
    auto& call = calls_.emplace_back();
    for (const auto& [name, parameter] : parameters) {
      const auto& gradient = parameter.grad();
      call.emplace_back(name, gradient.defined() ? gradient.clone() : gradient);
    }
  }

 private:
  std::vector<std::vector<NamedTensor>>& calls_;
};

TEST(Session, GradientsAreReducedOnceAStepBeforeAnythingElse) {
  const auto dataset = toy_dataset();
  auto config = toy_config("zero:freeze=true", "slice:layers=2");
  config.recipe.clip_norm = 1e-3;
  std::vector<std::vector<NamedTensor>> calls;
  Session session(config, dataset, nullptr, std::make_unique<RecordingReduction>(calls));
  for (int step = 0; step < 3; ++step) session.step();
  ASSERT_EQ(calls.size(), 3u);
  std::vector<std::string> names;
  for (const auto& item : session.network().named_parameters()) names.push_back(item.key());
  for (const auto& call : calls) {
    ASSERT_EQ(call.size(), names.size());
    double square = 0;
    for (size_t i = 0; i < call.size(); ++i) {
      const auto& [name, gradient] = call[i];
      EXPECT_EQ(name, names[i]);
      EXPECT_EQ(gradient.defined(), name != "conv2.weight") << name;
      if (gradient.defined()) square += gradient.square().sum().item<double>();
    }
    EXPECT_GT(std::sqrt(square), 0.01) << "they are clipped already";
  }
}

TEST(Session, RefusesWhatDoesNotFit) {
  const auto dataset = toy_dataset();
  auto config = toy_config();
  config.network = "vgg19";
  EXPECT_THROW(Session(config, dataset), Error);
  EXPECT_THROW(from_json({{"device", "tpu"}}, config), Error);
  for (const auto precision : {Precision::kFp16, Precision::kTf32}) {
    config = toy_config();
    config.precision = precision;
    EXPECT_THROW(Session(config, dataset), Error) << name(precision) << " on a CPU";
  }
}

}  // namespace
}  // namespace approx
