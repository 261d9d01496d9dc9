// The two layers that multiply, each with its three products open to methods.
//
// A layer knows what to do at a step from its slot, which the schedule fills before the step
// (core/train/scheduled_layers.h). With an empty slot it calls LibTorch's own convolution and
// nothing else, so an exact layer costs what a torch::nn layer costs; on shapes where an exact
// product of ours is faster (kernels/dense/), it calls that, unless the network is to use
// LibTorch's alone (OperatorChoice). A linear layer approximates as a 1x1 convolution on a 1x1 map.
#pragma once

#include <torch/nn/module.h>
#include <torch/nn/pimpl.h>

#include "core/config/catalogue.h"
#include "core/nn/approximated_conv.h"
#include "core/nn/operator_choice.h"
#include "core/nn/slot.h"
#include "kernels/operands.h"

namespace approx {

// What convolutions and linear layers share: their place in the network and their slot.
class Layer : public OperatorChoice {
 public:
  virtual ~Layer() = default;

  LayerSlot slot;
  LayerInfo info;  // name and index are the network's to fill, sizes those of the last forward pass

  // While `probing`: input and output of the last forward pass, and the gradient of the output
  // once a backward pass has come by.
  bool probing = false;
  struct Probe {
    at::Tensor x, y, dy;
  } probe;

  // The layer's operands as last probed; without dy where no backward pass came by.
  virtual Operands probed() const = 0;
};

// The number that keys a layer's random draws (Rng::layer): its index, with linear layers told from
// convolutions.
uint32_t draws_number(const LayerInfo& info);

// How a convolution's weight starts.
enum class ConvStart {
  kByRecipe,  // as its `init` says (core/nn/weight_start.h)
  kUniform,   // uniform within 1 / sqrt(fan in), as PyTorch's own, and no bias
  kDirac,     // likewise, but the first Ci filters pass on their channel
};

struct ConvOptions {
  int64_t in_channels = 1, out_channels = 1, kernel = 3, stride = 1, padding = 0, groups = 1;
  bool bias = false;
  ConvStart start = ConvStart::kByRecipe;  // kDirac: of one group
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

// While one lives, layers made by its thread have weights of zero: for whoever wants the shapes of
// a network and not its numbers. To draw those of a large one takes seconds.
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
