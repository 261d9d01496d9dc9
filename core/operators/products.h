// The operators behind torch.ops.approxtrain: functions of tensors that a trace can record. They
// change no argument, and no result shares memory with one. Their seed is a tensor, so that a trace
// holds a place for it and not its value. A layer's calls are counted where they are computed.
//
// `sample` is what both gradients need of the forward product's sample: nothing, its channels
// (int64), or its channels and their factors (float32).
#pragma once

#include <ATen/core/Tensor.h>

#include <array>
#include <string_view>
#include <vector>

#include "core/nn/slot.h"
#include "core/operators/known_method.h"
#include "kernels/operands.h"

namespace approx {

// The arguments of an operator on a convolution beside its tensors.
struct ConvCall {
  Known known;
  Geometry geometry;
  // A layer's call has here, as bits, the products that its schedule approximates and all that it
  // computes. Its seed is the layer's key (layer_records.h). 0: no layer calls, the seed is one.
  int64_t products = 0;
  int64_t computed = 0;

  bool is_of_layer() const { return products != 0; }
};

// The geometry of an operator's arguments: one number each, or one a direction.
Geometry geometry_of(at::IntArrayRef stride, at::IntArrayRef padding, at::IntArrayRef dilation,
                     int64_t groups);

// The call that an operator's arguments state.
ConvCall conv_call(at::IntArrayRef stride, at::IntArrayRef padding, at::IntArrayRef dilation,
                   int64_t groups, c10::string_view method, int64_t products = 0,
                   int64_t computed = 0);

// approxtrain::_conv2d: [y], and under `has_fixed_sample` the sample behind it; then, without
// groups, the sampled channels of x. Differentiable.
std::vector<at::Tensor> call_conv2d(const at::Tensor& x, const at::Tensor& w,
                                    const at::Tensor& bias, const at::Tensor& seed,
                                    const ConvCall& call);

struct BackwardTensors {
  at::Tensor dy;    // [N,Co,Ho,Wo]
  at::Tensor x;     // all of it, its sampled channels, or undefined where nothing reads it
  at::Tensor w;     // [Co,Ci/groups,Kh,Kw]
  at::Tensor seed;  // [] int64, or a layer's key
  std::vector<at::Tensor> sample;
};

// approxtrain::_conv2d_backward: the gradients asked for, in the order data, weight, bias.
// Differentiable.
std::vector<at::Tensor> call_conv2d_backward(const BackwardTensors& tensors,
                                             c10::SymIntArrayRef input_sizes, const ConvCall& call,
                                             std::array<bool, 3> asked);

// approxtrain::_conv2d_factors: the factors of the method's choice. Two are of the entries of dY
// [N,Co,Ho,Wo]: for the data gradient and for the weight gradient. The third is of the input
// channels [Ci], for both. Constants: they have no gradient. Only for methods with a second
// derivative.
std::vector<at::Tensor> call_conv2d_factors(const BackwardTensors& tensors,
                                            c10::SymIntArrayRef input_sizes, const ConvCall& call);

// approxtrain::_prune: the pruned gradient, laid out as dy. Without a gradient.
at::Tensor call_prune(const at::Tensor& dy, const at::Tensor& seed, const KnownMethod& known);

// Prunes as the operator does, for tensors that hold numbers.
at::Tensor prune_by(const at::Tensor& given, const KnownMethod& known, uint64_t seed);

// The multiply-accumulates of each exact product of a convolution that gives y.
double macs_of(const at::Tensor& y, const at::Tensor& w);

// Lays y out as PyTorch's convolutions do.
at::Tensor laid_out_like(const at::Tensor& y, const at::Tensor& x, const at::Tensor& w);

// core/operators/autograd.cpp: y with its gradient, for tensors that hold numbers. No operator is
// dispatched unless a gradient is traced, transformed or differentiated itself.
at::Tensor conv2d_of_numbers(const at::Tensor& x, const at::Tensor& w, const at::Tensor& bias,
                             const ConvCall& call, int64_t seed);

}  // namespace approx
