// The two layers that multiply: convolution and linear. A method may approximate each of their
// three products.
//
// A layer reads from its slot what to do at a step. The schedule fills the slot before the step
// (core/train/scheduled_layers.h). With an empty slot a layer calls LibTorch's own convolution and
// nothing else: an exact layer costs as much as a torch::nn layer. On shapes where an exact product
// of our own is faster (kernels/dense/), the layer calls that product. It does not if the network
// is to use LibTorch's operators alone (OperatorChoice). A linear layer approximates as a 1x1
// convolution on a 1x1 map.
#pragma once

#include <torch/nn/module.h>
#include <torch/nn/pimpl.h>

#include "core/config/catalogue.h"
#include "core/nn/approximated_conv.h"
#include "core/nn/operator_choice.h"
#include "core/nn/slot.h"
#include "kernels/operands.h"

namespace approx {

// The common part of convolutions and linear layers: their place in the network and their slot.
class Layer : public OperatorChoice {
 public:
  virtual ~Layer() = default;

  LayerSlot slot;
  LayerInfo info;  // the network fills in name and index; sizes are of the last forward pass

  // While `probing`: input and output of the last forward pass, and the gradient of that output
  // once a backward pass has computed it.
  bool probing = false;
  struct Probe {
    at::Tensor x, y, dy;
  } probe;

  // The layer's operands as last probed; without dy if there was no backward pass.
  virtual Operands probed() const = 0;
};

// The number that keys a layer's random draws (Rng::layer), as layer_number() makes it.
uint32_t draws_number(const LayerInfo& info);

// How a convolution's weight is initialised.
enum class ConvStart {
  kByRecipe,  // as the recipe's `init` says (core/nn/weight_start.h)
  kUniform,   // uniform within 1 / sqrt(fan in), as PyTorch's own, with a bias of 0
  kDirac,     // as kUniform, but the first Ci filters pass on their channel
};

struct ConvOptions {
  int64_t in_channels = 1, out_channels = 1, kernel = 3, stride = 1, padding = 0, groups = 1;
  bool bias = false;
  ConvStart start = ConvStart::kByRecipe;  // kDirac: with one group only
  bool frozen = false;                     // the weight does not train; the bias does
};

class ConvImpl : public torch::nn::Module, public Layer {
 public:
  explicit ConvImpl(const ConvOptions& options);

  // x [N,Ci,H,W] -> [N,Co,Ho,Wo]
  at::Tensor forward(const at::Tensor& x);

  Operands probed() const override;

  at::Tensor weight;  // [Co,Ci/groups,K,K], channels last in memory
  at::Tensor bias;    // [Co] or undefined

 private:
  Geometry geometry_;
};
TORCH_MODULE(Conv);

class LinearImpl : public torch::nn::Module, public Layer {
 public:
  LinearImpl(int64_t in_features, int64_t out_features, bool with_bias = true);

  // x [N,in] -> [N,out]
  at::Tensor forward(const at::Tensor& x);

  Operands probed() const override;  // of the 1x1 convolution

  at::Tensor weight;  // [out,in]
  at::Tensor bias;    // [out] or undefined
};
TORCH_MODULE(Linear);

// While one lives, layers made by its thread have weights of zero. Use it where only the shapes of
// a network are needed: drawing the weights of a large one takes seconds.
class ZeroWeights {
 public:
  ZeroWeights();
  ~ZeroWeights();
  ZeroWeights(const ZeroWeights&) = delete;
  ZeroWeights& operator=(const ZeroWeights&) = delete;

 private:
  bool before_;
};

}  // namespace approx
