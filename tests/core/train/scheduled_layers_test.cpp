#include "core/train/scheduled_layers.h"

#include <torch/torch.h>

#include "core/config/named_schedule.h"
#include "core/networks/network.h"
#include "core/train/optimizer.h"
#include "tests/testing.h"

namespace approx {
namespace {

// From the layer's slot to the optimizer: a training under a loss scale that changes is the
// training without one, whatever the method.
TEST(ScheduledLayers, UnderALossScaleTrainAlike) {
  const auto train = [](const std::string& method, bool scaled) {
    const NetworkInput input{1, 8, 2};
    const auto network = make_network("small_cnn:width=4", input, /*seed=*/1);
    const auto infos = layer_infos(*network, input);
    network->train();
    Schedule schedule(make_schedule("slice:layers=2"), infos, method, library_methods(), 4, 4);
    ScheduledLayers layers(network->layers(), schedule, /*seed=*/1);
    Recipe recipe;
    std::vector<NamedTensor> parameters;
    for (const auto& item : network->named_parameters()) {
      parameters.emplace_back(item.key(), item.value());
    }
    const auto optimizer = make_optimizer(recipe, parameters);
    LossScale scale(at::kCPU);
    for (int64_t step = 0; step < 4; ++step) {
      scale.scale().fill_(step % 2 == 0 ? 1024.0 : 4096.0);
      layers.begin_step(step, scaled ? scale.scale() : at::Tensor());
      optimizer->zero_grad();
      at::manual_seed(step);
      const auto loss = network->forward(at::randn({8, 1, 8, 8})).square().mean();
      (scaled ? scale.scaled(loss) : loss).backward();
      optimizer->step(0.05, scaled ? &scale : nullptr);
    }
    return network->parameters();
  };
  for (const auto* entry : Registry<MethodEntry>::instance().all()) {
    if (entry->stops_blocks) continue;  // branches_test.cpp
    const auto plain = train(entry->name, false), scaled = train(entry->name, true);
    for (size_t i = 0; i < plain.size(); ++i) {
      EXPECT_TRUE(close(scaled[i], plain[i], 1e-4)) << entry->name << " " << i;
    }
  }
}

}  // namespace
}  // namespace approx
