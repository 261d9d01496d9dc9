// The two layers that multiply, each with its three products open to methods.
//
// A layer knows what to do at a step from its slot, which the schedule fills before the step
// (core/train/scheduled_layers.h). With an empty slot it calls LibTorch's own convolution and
// nothing else, so an exact layer costs what a torch::nn layer costs; on shapes where an exact
// product of ours is faster (kernels/dense/), it calls that. A linear layer approximates as a 1x1
// convolution on a 1x1 map.
#pragma once

#include <torch/nn/module.h>
#include <torch/nn/pimpl.h>

#include <array>
#include <memory>
#include <vector>

#include "core/config/catalogue.h"
#include "core/methods/method.h"
#include "kernels/operands.h"

namespace approx {

// What one method did for one product of one layer, summed over steps. Counts of entries that a
// method kept of a gradient lie on its device: reading them waits for it, so that is left to
// whoever asks, once in a while.
struct UseCount {
  int64_t calls = 0;
  double host_macs = 0;      // really needed, besides those of kept entries
  double entries = 0;        // of the gradients that were pruned
  double host_kept = 0;      // of them, where the count is known without asking the device
  at::Tensor device_kept;    // [] double, where it is not; undefined: none
  double macs_per_kept = 0;  // multiply-accumulates that one entry of device_kept stands for

  void add(const Plan& plan, const Operands& operands);
  void add_finished(const Finished& finished);

  double kept() const;
  double macs() const;
  // Of the pruned gradients; NaN where there were none.
  double density() const;
};

struct MethodUse {
  Method* method = nullptr;  // null: exact
  UseCount* count = nullptr;
};

// How many entries are not zero of the gradient of a layer's output, as the weight gradient takes
// it: behind a ReLU and after any pruning of it or of the data gradient that it comes from. This is
// the gradient density of Ye et al. 2020, section 6.2.
struct GradientCount {
  at::Tensor nonzero;  // [] int64 on its device; undefined: no gradient came by
  int64_t entries = 0;

  void count(const at::Tensor& gradient);
};

struct LayerSlot {
  std::array<MethodUse, 3> use;       // by Product
  GradientCount* gradient = nullptr;  // where the step counts it; convolutions alone do
  uint64_t seed = 0;
  uint64_t step = 0;
  bool norm_follows = false;      // see Operands
  std::shared_ptr<Method> owner;  // keeps the methods alive where no schedule does

  bool exact() const { return !use[0].method && !use[1].method && !use[2].method; }
  const MethodUse& of(Product product) const { return use[static_cast<size_t>(product)]; }
};

// What convolutions and linear layers share: their place in the network and their slot.
class Layer {
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

struct ConvOptions {
  int64_t in_channels = 1, out_channels = 1, kernel = 3, stride = 1, padding = 0, groups = 1;
  bool bias = false;
};

class ConvImpl : public torch::nn::Module, public Layer {
 public:
  explicit ConvImpl(const ConvOptions& options);

  // x [N,Ci,H,W] -> [N,Co,Ho,Wo]
  at::Tensor forward(const at::Tensor& x);

  Operands probed() const override;

  at::Tensor weight;  // [Co,Ci/groups,K,K], channels last in memory; He normal over the fan out
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

// The approximated layer as an autograd function: y = x (*) w + bias, each product as the slot
// says. The bias gradient is always exact. Exposed for tests; layers call it themselves.
at::Tensor approximated_conv(const at::Tensor& x, const at::Tensor& w, const at::Tensor& bias,
                             const Geometry& geometry, const LayerSlot& slot, uint32_t layer);

}  // namespace approx
