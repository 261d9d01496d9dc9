// What a training step asks of LibTorch: nothing that would make the host wait for a device, and
// the same operators on the same shapes every time. A step with these two properties can be
// captured as a graph (step_graphs_test.cpp).
#include <torch/torch.h>

#include <string>
#include <vector>

#include "core/networks/network.h"
#include "core/train/session.h"
#include "tests/core/train/operators.h"
#include "tests/testing.h"

namespace approx {
namespace {

RunConfig busy_config() {
  RunConfig config;
  config.network = "resnet14";
  config.dataset = "toy";
  config.batch_size = 8;
  config.threads = 1;
  config.recipe.epochs = 1;
  config.recipe.crop_padding = 1;
  config.recipe.flip = true;
  config.recipe.cutout = 2;
  config.recipe.label_smoothing = 0.1;
  config.recipe.clip_norm = 1;
  config.recipe.ema = 0.9;
  config.recipe.norm_bias_rate = 4;
  return config;
}

std::vector<std::string> operators_of_step(Session& session) {
  const Operators operators;
  session.step();
  return Operators::calls();
}

TEST(Step, OfADenseNetworkWaitsForNothingAndIsTheSameEveryTime) {
  const auto dataset = toy_dataset();
  for (const auto optimizer : all_of_enum<UpdateRule>()) {
    auto config = busy_config();
    config.recipe.optimizer = optimizer;
    Session session(config, dataset);
    session.step();
    const auto second = operators_of_step(session);
    EXPECT_GT(second.size(), 100u) << "the operators were not recorded";
    // LibTorch's fused Adam for the CPU, and it alone, reads the counts of its steps: an item() and
    // what that is made of for each parameter.
    const bool reads_counts = optimizer == UpdateRule::kAdam;
    const size_t reads = reads_counts ? 2 * session.network().parameters().size() : 0;
    EXPECT_EQ(Operators::waits().size(), reads) << name(optimizer);
    EXPECT_EQ(operators_of_step(session), second) << name(optimizer);
  }
}

TEST(Step, ThatWaitsIsSeen) {
  const Operators operators;
  at::ones({2}).sum().item<float>();
  EXPECT_FALSE(Operators::waits().empty());
}

}  // namespace
}  // namespace approx
