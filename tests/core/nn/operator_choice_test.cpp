#include "core/nn/operator_choice.h"

#include <torch/torch.h>

#include <algorithm>

#include "core/networks/network.h"
#include "tests/core/train/operators.h"
#include "tests/testing.h"

namespace approx {
namespace {

struct Passes {
  at::Tensor logits;
  std::vector<std::pair<std::string, at::Tensor>> gradients, buffers;
  int64_t norms = 0;  // calls of LibTorch's batch norm
};

// The forward and the backward pass of a residual network on which kernels of our own pay.
Passes passes_by(OperatorSet set) {
  const auto network = make_network("resnet20", {.channels = 3, .size = 16, .classes = 10}, 7);
  network->train();
  choose_operators(*network, set);
  torch::manual_seed(3);
  const auto x = at::randn({8, 3, 16, 16}).contiguous(at::MemoryFormat::ChannelsLast);
  const Operators operators;
  Passes passes;
  passes.logits = network->forward(x);
  passes.norms = std::ranges::count_if(Operators::calls(), [](const std::string& call) {
    return call.starts_with("aten::batch_norm ");
  });
  passes.logits.pow(2).sum().backward();
  for (const auto& item : network->named_parameters()) {
    passes.gradients.emplace_back(item.key(), item.value().grad());
  }
  for (const auto& item : network->named_buffers()) {
    passes.buffers.emplace_back(item.key(), item.value());
  }
  return passes;
}

TEST(OperatorChoice, TheLibrarysComputeWhatTheBestDo) {
  const auto best = passes_by(OperatorSet::kBest), library = passes_by(OperatorSet::kLibrary);
  EXPECT_EQ(best.norms, 0);
  EXPECT_EQ(library.norms, 19) << "one for each convolution";
  const auto close = [](const at::Tensor& a, const at::Tensor& b) {
    return (a - b).abs().max().item<double>() <=
           1e-3 * std::max(1e-6, b.abs().max().item<double>());
  };
  EXPECT_TRUE(close(best.logits, library.logits));
  ASSERT_EQ(best.gradients.size(), library.gradients.size());
  for (size_t i = 0; i < best.gradients.size(); ++i) {
    EXPECT_TRUE(close(best.gradients[i].second, library.gradients[i].second))
        << best.gradients[i].first;
  }
  ASSERT_EQ(best.buffers.size(), library.buffers.size());
  for (size_t i = 0; i < best.buffers.size(); ++i) {
    EXPECT_TRUE(close(best.buffers[i].second, library.buffers[i].second)) << best.buffers[i].first;
  }
}

}  // namespace
}  // namespace approx
