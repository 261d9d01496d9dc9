// A method whose rate leaves nothing out trains as exact training does, on three networks: equal
// bit for bit, or to rounding where the product takes another path.
#include <ATen/ATen.h>

#include <map>

#include "core/methods/method.h"
#include "core/networks/network.h"
#include "core/train/session.h"
#include "tests/core/train/toy_run.h"
#include "tests/testing.h"

namespace approx {
namespace {

constexpr int64_t kSteps = 5;  // fewer than an epoch has
constexpr double kRounding = 1e-6;

const std::string kEveryStep = "slice:layers=name=*";
// Begins behind the last of these steps: for methods that have no such rate.
const std::string kNever = "slice:layers=name=*,from=1ep";

struct Everything {
  std::string method, schedule;
};

const std::map<std::string, Everything>& of_each_method() {
  static const std::map<std::string, Everything> found = {
      {"bernoulli_crs", {"bernoulli_crs:ratio=1", kEveryStep}},
      {"block_skip", {"block_skip", "random_steps:p=0.5,from=1ep"}},
      {"channel_drop", {"channel_drop:ratio=1", kEveryStep}},
      {"crs", {"crs", kNever}},  // drawn with replacement: no ratio has every pair once
      {"exact", {"exact", kEveryStep}},
      {"freeze_layers", {"freeze_layers", kNever}},
      {"gradient_filter", {"gradient_filter", kNever}},  // r = 1 sums over the taps already
      {"int8", {"int8", kNever}},                        // always rounds
      {"meprop", {"meprop:ratio=1", kEveryStep}},
      {"msbp", {"msbp:ratio=1", kEveryStep}},
      {"nm_unbiased", {"nm_unbiased:n=4,m=4", kEveryStep}},
      {"random", {"random", kNever}},
      {"random_entries", {"random_entries:ratio=1", kEveryStep}},
      {"random_position", {"random_position", kNever}},
      {"sdgp", {"sdgp:n=4,m=4", kEveryStep}},
      {"stochastic_pruning", {"stochastic_pruning:p=0", kEveryStep}},
      {"topk_crs", {"topk_crs:ratio=1", kEveryStep}},
      {"topk_position", {"topk_position:k=64,scale=none", kEveryStep}},  // maps of up to 8x8
      {"topk_weights", {"topk_weights:ratio=1", kEveryStep}},
      {"uniform_crs", {"uniform_crs:ratio=1", kEveryStep}},
      {"vcas", {"vcas:ratio=1", kEveryStep}},
      {"wta_crs", {"wta_crs:ratio=1", kEveryStep}},
      {"zero", {"zero", kNever}},
  };
  return found;
}

std::vector<at::Tensor> trained(const RunConfig& config, const LoadedDataset& dataset) {
  Session session(config, dataset);
  for (int64_t i = 0; i < kSteps; ++i) session.step();
  return session.network().parameters();
}

class FullSelection : public ::testing::TestWithParam<const MethodEntry*> {};

TEST_P(FullSelection, TrainsAsExactTrainingDoes) {
  const auto& entry = *GetParam();
  const auto everything = of_each_method().find(entry.name);
  ASSERT_NE(everything, of_each_method().end())
      << "say here at which rate " << entry.name << " keeps everything";
  const auto& [method, schedule] = everything->second;
  const LoadedDataset dataset = toy_dataset();
  const std::vector<std::string> networks =
      entry.stops_blocks
          ? std::vector<std::string>{"resnet14", "resnet20", "wide_resnet:depth=10,width=1"}
          : std::vector<std::string>{"small_cnn:width=4", "resnet14",
                                     "mnist_mlp:hidden=16,dropout=0"};
  for (const auto& network : networks) {
    SCOPED_TRACE(network);
    auto config = toy_run(method, schedule, 2);
    auto exact = toy_run("dense", "", 2);
    config.network = exact.network = network;
    const auto own = trained(config, dataset), wanted = trained(exact, dataset);
    ASSERT_EQ(own.size(), wanted.size());
    for (size_t i = 0; i < own.size(); ++i) {
      const double size = wanted[i].norm().item<double>();
      EXPECT_LE((own[i] - wanted[i]).norm().item<double>(), kRounding * size) << "parameter " << i;
    }
    exact.seed = 1;
    const auto others = trained(exact, dataset);
    EXPECT_GT((others[0] - wanted[0]).norm().item<double>(),
              kRounding * wanted[0].norm().item<double>())
        << "the test could not fail";
  }
}

INSTANTIATE_TEST_SUITE_P(Every, FullSelection,
                         ::testing::ValuesIn(Registry<MethodEntry>::instance().all()),
                         [](const auto& info) { return info.param->name; });

}  // namespace
}  // namespace approx
