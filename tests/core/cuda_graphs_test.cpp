// Captured steps on a GPU: they train as steps that are not, bit for bit. Skipped where there is
// none.
#include <ATen/Context.h>
#include <dlfcn.h>
#include <torch/utils.h>

#include <optional>

#include "core/config/named_schedule.h"
#include "core/train/device.h"
#include "core/train/evaluation.h"
#include "core/train/session.h"
#include "core/train/step_recorder.h"
#include "kernels/library.h"
#include "tests/core/train/capturable.h"
#include "tests/testing.h"

namespace approx {
namespace {

// Why there is no GPU, "" where there is one: asked for once, since it opens half of LibTorch.
const std::string& no_cuda() {
  static const std::string reason = []() -> std::string {
    try {
      open_device(DeviceKind::kCuda);
      return "";
    } catch (const Error& error) {
      return error.what();
    }
  }();
  return reason;
}

constexpr int kSteps = 20;

RunConfig cuda_run(const std::string& method, const std::string& network = "resnet14") {
  RunConfig config;
  config.network = network;
  config.dataset = "toy";
  config.device = DeviceKind::kCuda;
  config.batch_size = 16;
  config.threads = 1;
  config.method = method;
  if (method != kDense) config.schedule = make_schedule("slice:layers=2::2,steps=::2");
  config.recipe.learning_rate = 0.05;
  config.recipe.lr_schedule = RateSchedule::kCosine;
  config.recipe.momentum = 0.9;
  config.recipe.crop_padding = 1;
  config.recipe.flip = true;
  config.recipe.clip_norm = 1;
  config.recipe.ema = 0.9;
  config.recipe.epochs = 2;
  return config;
}

// All that steps change, counts of the host among it, and how they were done.
struct Training {
  Json state, layers;
  std::vector<NamedTensor> tensors;
  double loss = 0;  // of an evaluation in between
  std::optional<GraphReport> graphs;
};

Training train(const RunConfig& config) {
  at::globalContext().setDeterministicCuDNN(true);
  torch::manual_seed(1);  // of dropout
  const auto dataset = toy_dataset();
  Session session(config, dataset);
  Training training;
  for (int step = 0; step < kSteps; ++step) {
    // Looked at in between, as runs do.
    if (step == 9) {
      session.step_counting_gradients();
      training.loss = Evaluation(config, dataset, session).score(session.split().test).loss;
    } else {
      session.step();
    }
  }
  const auto saved = session.save();
  training.state = saved.state;
  training.layers = session.layer_events();
  for (const auto& [name, tensor] : saved.tensors) {
    training.tensors.emplace_back(name, tensor.cpu().clone());
  }
  training.graphs = session.graph_report();
  return training;
}

// Trains with graphs and without; how the steps with graphs were done.
GraphReport expect_same_training(RunConfig config) {
  config.graphs = GraphUse::kAuto;
  const auto captured = train(config);
  config.graphs = GraphUse::kOff;
  const auto plain = train(config);
  EXPECT_FALSE(plain.graphs.has_value());
  EXPECT_EQ(captured.state, plain.state);
  EXPECT_EQ(captured.layers, plain.layers);
  EXPECT_EQ(captured.loss, plain.loss);
  EXPECT_EQ(captured.tensors.size(), plain.tensors.size());
  for (size_t i = 0; i < std::min(captured.tensors.size(), plain.tensors.size()); ++i) {
    EXPECT_TRUE(at::equal(captured.tensors[i].second, plain.tensors[i].second))
        << plain.tensors[i].first;
  }
  return captured.graphs.value_or(GraphReport{});
}

class CudaGraphs : public testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    if (!no_cuda().empty()) GTEST_SKIP() << no_cuda();
  }
};

TEST_P(CudaGraphs, OfAMethodGiveTheBitsOfStepsWithout) {
  for (const auto optimizer : all_of_enum<UpdateRule>()) {
    auto config = cuda_run(GetParam());
    config.recipe.optimizer = optimizer;
    if (optimizer == UpdateRule::kAdam) config.recipe.learning_rate = 0.003;
    const auto report = expect_same_training(config);
    const bool waits = !make_method(GetParam())->waits_for().empty();
    EXPECT_EQ(report.rows, 2);
    EXPECT_EQ(report.graphs, waits ? 1 : 2)
        << (report.steps.empty() ? "" : report.steps.rbegin()->first);
  }
}

INSTANTIATE_TEST_SUITE_P(Every, CudaGraphs, testing::ValuesIn(method_texts()),
                         [](const auto& info) { return test_name(info.param); });

class CudaGraphsOf : public CudaGraphs {};

TEST_P(CudaGraphsOf, ANetworkGiveTheBitsOfStepsWithout) {
  EXPECT_EQ(expect_same_training(cuda_run(std::string(kDense), GetParam())).graphs, 1);
}

// Residual, with dropout, with biases.
INSTANTIATE_TEST_SUITE_P(Networks, CudaGraphsOf,
                         testing::Values("resnet14", "small_cnn:width=4",
                                         "wide_resnet:depth=10,width=1,dropout=0.3"),
                         [](const auto& info) { return test_name(info.param); });

class CudaGraphsIn : public CudaGraphs {};

TEST_P(CudaGraphsIn, HalfPrecisionGiveTheBitsOfStepsWithout) {
  auto config = cuda_run("stochastic_pruning");
  config.precision = *find_named<Precision>(GetParam());
  EXPECT_EQ(expect_same_training(config).graphs, 2);
}

INSTANTIATE_TEST_SUITE_P(Precisions, CudaGraphsIn, testing::Values("bf16", "fp16", "tf32"),
                         [](const auto& info) { return test_name(info.param); });

TEST(CudaGraphsSetting, OnRefusesAMethodThatWaits) {
  if (!no_cuda().empty()) GTEST_SKIP() << no_cuda();
  auto config = cuda_run("crs");
  config.graphs = GraphUse::kOn;
  const auto dataset = toy_dataset();
  Session session(config, dataset);
  EXPECT_THROW(session.step(), Error);
}

// Without a GPU too: the library of graphs is linked with nothing of CUDA, and all that it takes
// must be in the libraries that are opened before it.
TEST(StepRecorder, OfCudaIsFoundInALibraryOfItsOwn) {
  if (dlopen("libtorch_cuda.so", RTLD_NOW | RTLD_GLOBAL) == nullptr) {
    GTEST_SKIP() << "this LibTorch has no CUDA part";
  }
  if (!open_beside("libapproxtrain_graphs.so")) GTEST_SKIP() << "built without CUDA";
  EXPECT_NE(step_recorder_maker(), nullptr);
}

}  // namespace
}  // namespace approx
