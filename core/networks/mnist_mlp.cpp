// mnist_mlp: the three-layer perceptron that Adelman et al. 2021 train on MNIST (Table 1, Figure
// 4). Their text says no more than that. From the code they published: hidden layers of 500 units,
// dropout 0.1. Chosen here: ReLU, the dropout after it, and PyTorch's start of linear layers.
#include <ATen/ATen.h>

#include "core/networks/network.h"

namespace approx {
namespace {

class MnistMlp final : public Network {
 public:
  MnistMlp(const Params& params, const NetworkInput& input) : dropout_(params.real("dropout")) {
    const int64_t hidden = params.integer("hidden");
    linear1_ = register_module("linear1", Linear(input.channels * input.size * input.size, hidden));
    linear2_ = register_module("linear2", Linear(hidden, hidden));
    linear3_ = register_module("linear3", Linear(hidden, input.classes));
  }

  at::Tensor forward(at::Tensor x) override {
    x = activated(linear1_(x.flatten(1)));
    x = activated(linear2_(x));
    return linear3_(x);
  }

 private:
  at::Tensor activated(const at::Tensor& x) const {
    return at::dropout(x.relu(), dropout_, is_training());
  }

  double dropout_;
  Linear linear1_{nullptr}, linear2_{nullptr}, linear3_{nullptr};
};

REGISTER_NETWORK("mnist_mlp", MnistMlp)
    .about("three linear layers with dropout, for MNIST")
    .from_paper("adelman2021", "Table 1")
    .described_for({.channels = 1, .size = 28, .classes = 10})
    .param({"hidden", int64_t{500}, "units of each of the two hidden layers", 1})
    .param({"dropout", 0.1, "share of the hidden units that a training step leaves out", 0, 1});

}  // namespace
}  // namespace approx
