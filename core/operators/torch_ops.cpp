// torch.ops.approxtrain: the methods as operators, for models written in Python (docs/python.md).
//
// Each call names its method in full and its draws by a seed, and keeps nothing: a method with a
// memory is refused. The public operators check their arguments and are composed of differentiable
// pieces, so autocast reaches them and meta tensors get the shapes of the exact product. Tensors
// that hold numbers go straight to the kernels; what traces or transforms (torch.compile,
// torch.func) records the operators of core/operators/products.h.
#include <ATen/ATen.h>
#include <ATen/TensorSubclassLikeUtils.h>
#include <ATen/core/grad_mode.h>
#include <torch/library.h>

#include <string>

#include "core/nn/approximated_conv.h"
#include "core/operators/checks.h"
#include "core/operators/known_method.h"
#include "core/operators/products.h"

namespace approx {
namespace {

// The seed of a call: a number, or a tensor that a trace may leave open.
class Seed {
 public:
  Seed(int64_t number) : number_(number) {}  // NOLINT(google-explicit-constructor)

  // A tensor as the seed of a call on `x`.
  Seed(const at::Tensor& tensor, const at::Tensor& x, const char* op) : tensor_(tensor) {
    TORCH_CHECK_TYPE(tensor.scalar_type() == at::kLong, op, ": seed must be of int64, not ",
                     tensor.scalar_type());
    TORCH_CHECK_VALUE(tensor.dim() == 0, op, ": seed must be one number, [], got ",
                      tensor.sym_sizes());
    TORCH_CHECK_VALUE(tensor.is_cpu() || (tensor.is_meta() && x.is_meta()), op,
                      ": seed must be on the CPU, not on ", tensor.device(),
                      ", which every call would wait for: keep it on the CPU");
  }

  // As the operators take it.
  at::Tensor tensor() const {
    return tensor_.defined() ? tensor_ : at::scalar_tensor(number_, at::kLong);
  }
  int64_t number() const { return tensor_.defined() ? tensor_.item<int64_t>() : number_; }
  bool holds_number() const { return !tensor_.defined() || !at::isTensorSubclassLike(tensor_); }

 private:
  int64_t number_ = 0;
  at::Tensor tensor_;
};

bool hold_numbers(at::TensorList tensors, const Seed& seed) {
  return !at::areAnyTensorSubclassLike(tensors) && seed.holds_number();
}

// What every operator asks of a tensor; `what` names it in messages.
void check(const at::Tensor& tensor, const KnownMethod& known, const char* op, const char* what) {
  TORCH_CHECK_VALUE(tensor.defined(), op, ": ", what, " is missing");
  check_operand(tensor, op, what, /*may_be_meta=*/true);
  // The exact product of PyTorch has one.
  TORCH_CHECK(known.is_dense() || !tensor._fw_grad(0).defined(), op,
              ": has no derivative in forward mode (", what, " is a dual tensor): use backward");
}

void check_bias(const at::Tensor& bias, const KnownMethod& known, const at::Tensor& x,
                const at::Tensor& w, const char* op) {
  if (!bias.defined()) return;
  check(bias, known, op, "bias");
  check_same(x, bias, op, "bias");
  TORCH_CHECK_VALUE(bias.dim() == 1 && bias.sym_size(0) == w.sym_size(0), op, ": bias must be [",
                    w.sym_size(0), "], got ", bias.sym_sizes());
}

Spatial spatial(at::IntArrayRef values, const char* what, int64_t least) {
  TORCH_CHECK_VALUE(values.size() == 1 || values.size() == 2, "approxtrain::conv2d: ", what,
                    " must have one or two numbers, got ", values);
  TORCH_CHECK_VALUE(values.front() >= least && values.back() >= least,
                    "approxtrain::conv2d: ", what, " must be at least ", least, ", got ", values);
  return {values.front(), values.back()};
}

// The convolution of checked operands, in the precision of autocast.
at::Tensor approximated(const at::Tensor& input, const at::Tensor& weight,
                        const at::Tensor& input_bias, const ConvCall& call, const Seed& seed) {
  auto x = cast_operand(input), w = cast_operand(weight), bias = cast_operand(input_bias);
  const c10::impl::ExcludeDispatchKeyGuard no_autocast(c10::autocast_dispatch_keyset);
  if (!hold_numbers({x, w, bias}, seed)) return call_conv2d(x, w, bias, seed.tensor(), call)[0];
  x = without_minus(x);
  w = without_minus(w);
  bias = without_minus(bias);
  return laid_out_like(conv2d_of_numbers(x, w, bias, call, seed.number()), x, w);
}

at::Tensor conv2d_by(const at::Tensor& x, const at::Tensor& w, const at::Tensor& bias,
                     at::IntArrayRef stride, at::IntArrayRef padding, at::IntArrayRef dilation,
                     int64_t groups, c10::string_view method, const Seed& seed) {
  constexpr const char* kOp = "approxtrain::conv2d";
  const auto known = find_method(method);
  check(x, *known, kOp, "x");
  check(w, *known, kOp, "w");
  check_same(x, w, kOp, "w");
  TORCH_CHECK_VALUE(x.dim() == 4, kOp, ": x must be [N,C,H,W], got ", x.sym_sizes());
  TORCH_CHECK_VALUE(w.dim() == 4, kOp, ": w must be [Co,Ci/groups,Kh,Kw], got ", w.sym_sizes());
  TORCH_CHECK_VALUE(w.sym_size(0) >= 1, kOp, ": w ", w.sym_sizes(), " has no output channels");
  TORCH_CHECK_VALUE(
      groups >= 1 && w.sym_size(0) % groups == 0 && x.sym_size(1) == w.sym_size(1) * groups, kOp,
      ": x ", x.sym_sizes(), " and w ", w.sym_sizes(), " do not fit with ", groups, " groups");
  const ConvCall call{known,
                      {spatial(stride, "stride", 1), spatial(padding, "padding", 0),
                       spatial(dilation, "dilation", 1), groups}};
  for (size_t d = 0; d < 2; ++d) {
    const auto taps = w.sym_size(2 + static_cast<int64_t>(d));
    const auto room = x.sym_size(2 + static_cast<int64_t>(d)) + 2 * call.geometry.padding.both()[d];
    TORCH_CHECK_VALUE(taps >= 1 && room > (taps - 1) * call.geometry.dilation.both()[d], kOp,
                      ": the kernel of w ", w.sym_sizes(), " is larger than the padded x ",
                      x.sym_sizes());
  }
  check_bias(bias, *known, x, w, kOp);
  if (known->is_dense() || x.is_meta() || x.sym_numel() == 0) {
    return at::conv2d(x, w, bias, stride, padding, dilation, groups);
  }
  return approximated(x, w, bias, call, seed);
}

// x wT + bias; the names are those of the operator's arguments in messages.
struct LinearNames {
  const char *op, *x, *w;
};

at::Tensor linear_as(const LinearNames& names, const at::Tensor& x, const at::Tensor& w,
                     const at::Tensor& bias, const Known& known, const Seed& seed) {
  check(x, *known, names.op, names.x);
  check(w, *known, names.op, names.w);
  check_same(x, w, names.op, names.w);
  check_bias(bias, *known, x, w, names.op);
  if (known->is_dense() || x.is_meta() || x.sym_numel() == 0 || w.sym_numel() == 0) {
    return at::linear(x, w, bias);
  }
  const auto rows = x.reshape_symint({-1, x.sym_size(-1), 1, 1});
  const auto y = approximated(rows, w.unsqueeze(-1).unsqueeze(-1), bias, {known, Geometry{}}, seed);
  auto sizes = x.sym_sizes().vec();
  sizes.back() = w.sym_size(0);
  return y.reshape_symint(sizes);
}

at::Tensor linear_by(const at::Tensor& x, const at::Tensor& w, const at::Tensor& bias,
                     c10::string_view method, const Seed& seed) {
  constexpr const char* kOp = "approxtrain::linear";
  const auto known = find_method(method);
  TORCH_CHECK_VALUE(x.dim() >= 1 && w.dim() == 2 && x.sym_size(-1) == w.sym_size(1), kOp, ": x ",
                    x.sym_sizes(), " and w ", w.sym_sizes(), " do not fit: w is [out,in]");
  return linear_as({kOp, "x", "w"}, x, w, bias, known, seed);
}

at::Tensor matmul_by(const at::Tensor& a, const at::Tensor& b, c10::string_view method,
                     const Seed& seed) {
  constexpr const char* kOp = "approxtrain::matmul";
  const auto known = find_method(method);
  TORCH_CHECK_VALUE(b.dim() == 2 && a.dim() >= 2 && a.sym_size(-1) == b.sym_size(0), kOp,
                    ": a must be [...,m,k] and b [k,n], got ", a.sym_sizes(), " and ",
                    b.sym_sizes());
  return linear_as({kOp, "a", "b"}, a, b.t(), {}, known, seed);
}

at::Tensor prune_as(const at::Tensor& given, c10::string_view method, const Seed& seed) {
  constexpr const char* kOp = "approxtrain::prune";
  const auto known = find_method(method);
  check(given, *known, kOp, "dy");
  TORCH_CHECK_VALUE(given.dim() == 2 || given.dim() == 4, kOp,
                    ": dy must be [N,C] or [N,C,H,W], got ", given.sym_sizes());
  TORCH_CHECK_VALUE(known->is_dense() || known->method->looks_at_dy_alone(), kOp, ": ", known->text,
                    " does not prune a gradient");
  if (given.is_meta()) return at::empty_like(given);
  const at::NoGradGuard no_grad;
  const auto dy = given.detach();
  if (known->is_dense() || dy.sym_numel() == 0) return dy.clone();
  if (!hold_numbers({dy}, seed)) return call_prune(dy, seed.tensor(), *known);
  return prune_by(without_minus(dy), *known, static_cast<uint64_t>(seed.number()));
}

// As PyTorch calls them: with a number for a seed, and with a tensor.

using OptionalTensor = std::optional<at::Tensor>;
using Ints = at::IntArrayRef;

at::Tensor conv2d(const at::Tensor& x, const at::Tensor& w, const OptionalTensor& bias, Ints stride,
                  Ints padding, Ints dilation, int64_t groups, c10::string_view method,
                  int64_t seed) {
  return conv2d_by(x, w, bias.value_or(at::Tensor()), stride, padding, dilation, groups, method,
                   seed);
}

at::Tensor conv2d_seeded(const at::Tensor& x, const at::Tensor& w, const OptionalTensor& bias,
                         Ints stride, Ints padding, Ints dilation, int64_t groups,
                         c10::string_view method, const at::Tensor& seed) {
  return conv2d_by(x, w, bias.value_or(at::Tensor()), stride, padding, dilation, groups, method,
                   {seed, x, "approxtrain::conv2d"});
}

at::Tensor linear(const at::Tensor& x, const at::Tensor& w, const OptionalTensor& bias,
                  c10::string_view method, int64_t seed) {
  return linear_by(x, w, bias.value_or(at::Tensor()), method, seed);
}

at::Tensor linear_seeded(const at::Tensor& x, const at::Tensor& w, const OptionalTensor& bias,
                         c10::string_view method, const at::Tensor& seed) {
  return linear_by(x, w, bias.value_or(at::Tensor()), method, {seed, x, "approxtrain::linear"});
}

at::Tensor matmul(const at::Tensor& a, const at::Tensor& b, c10::string_view method, int64_t seed) {
  return matmul_by(a, b, method, seed);
}

at::Tensor matmul_seeded(const at::Tensor& a, const at::Tensor& b, c10::string_view method,
                         const at::Tensor& seed) {
  return matmul_by(a, b, method, {seed, a, "approxtrain::matmul"});
}

at::Tensor prune(const at::Tensor& dy, c10::string_view method, int64_t seed) {
  return prune_as(dy, method, seed);
}

at::Tensor prune_seeded(const at::Tensor& dy, c10::string_view method, const at::Tensor& seed) {
  return prune_as(dy, method, {seed, dy, "approxtrain::prune"});
}

}  // namespace

TORCH_LIBRARY(approxtrain, library) {
  const std::vector<at::Tag> traced{at::Tag::pt2_compliant_tag};
  library.def(
      "conv2d(Tensor x, Tensor w, Tensor? bias=None, int[2] stride=1, int[2] padding=0, "
      "int[2] dilation=1, int groups=1, str method='dense', int seed=0) -> Tensor",
      &conv2d, traced);
  library.def(
      "conv2d.seeded(Tensor x, Tensor w, Tensor? bias, int[2] stride, int[2] padding, "
      "int[2] dilation, int groups, str method, Tensor seed) -> Tensor",
      &conv2d_seeded, traced);
  library.def(
      "linear(Tensor x, Tensor w, Tensor? bias=None, str method='dense', int seed=0) -> Tensor",
      &linear, traced);
  library.def("linear.seeded(Tensor x, Tensor w, Tensor? bias, str method, Tensor seed) -> Tensor",
              &linear_seeded, traced);
  library.def("matmul(Tensor a, Tensor b, str method='dense', int seed=0) -> Tensor", &matmul,
              traced);
  library.def("matmul.seeded(Tensor a, Tensor b, str method, Tensor seed) -> Tensor",
              &matmul_seeded, traced);
  library.def("prune(Tensor dy, str method, int seed=0) -> Tensor", &prune, traced);
  library.def("prune.seeded(Tensor dy, str method, Tensor seed) -> Tensor", &prune_seeded, traced);

  // Behind them (core/operators/products.h). Their kernels read the seed on the host, which a
  // captured graph of a GPU could not repeat.
  const std::vector<at::Tag> pieces{at::Tag::pt2_compliant_tag, at::Tag::needs_exact_strides,
                                    at::Tag::cudagraph_unsafe};
  library.def(
      "_conv2d(Tensor x, Tensor w, Tensor? bias, Tensor seed, int[2] stride, int[2] padding, "
      "int[2] dilation, int groups, str method, int products=0, int computed=0) -> Tensor[]",
      pieces);
  library.def(
      "_conv2d_backward(Tensor dy, Tensor? x, Tensor w, Tensor seed, Tensor[] sample, "
      "SymInt[] input_sizes, int[2] stride, int[2] padding, int[2] dilation, int groups, "
      "str method, bool[3] asked, int products=0) -> Tensor[]",
      pieces);
  library.def(
      "_conv2d_factors(Tensor dy, Tensor? x, Tensor w, Tensor seed, Tensor[] sample, "
      "SymInt[] input_sizes, int[2] stride, int[2] padding, int[2] dilation, int groups, "
      "str method) -> Tensor[]",
      pieces);
  library.def("_prune(Tensor dy, Tensor seed, str method) -> Tensor", pieces);
}

}  // namespace approx
