// torch.ops.approxtrain: the methods as operators, for models written in Python (docs/python.md).
//
// Each call names its method in full and its draws by a seed, and keeps nothing: a method with a
// memory is refused. They are composed of differentiable pieces, so autocast reaches them and meta
// tensors get the shapes of the exact product; what would have to trace through them
// (torch.compile, torch.func) is refused, since a trace would freeze one sample.
#include <ATen/ATen.h>
#include <ATen/TensorSubclassLikeUtils.h>
#include <ATen/autocast_mode.h>
#include <torch/library.h>

#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "base/error.h"
#include "core/config/dense.h"
#include "core/methods/method.h"
#include "core/nn/approximated_conv.h"
#include "kernels/kernel.h"
#include "kernels/library.h"

namespace approx {
namespace {

// Nothing is known of the network: placement=auto prunes dY.
constexpr bool kNormFollows = true;

struct KnownMethod {
  std::shared_ptr<Method> method;  // null: dense
  std::vector<Product> products;
};

// Methods without memory are the same object in every call with the same text, in any thread.
KnownMethod find_method(const std::string& text) {
  static std::mutex mutex;
  static std::map<std::string, KnownMethod> known;
  constexpr size_t kMost = 1024;  // texts; a program that makes up more pays for parsing
  const std::lock_guard lock(mutex);
  if (const auto found = known.find(text); found != known.end()) return found->second;
  KnownMethod made;
  try {
    static const Catalogue catalogue = library_methods();
    const Spec spec = parse_spec(text);
    const Params params = catalogue.method_params(text);  // of "dense", too, which has none
    TORCH_CHECK_VALUE(!is_mixed(spec.name), text,
                      ": is of schedules of the approxtrain program; "
                      "name one method");
    if (!is_dense(spec.name)) {
      made.products = catalogue.method(spec.name).products_with(params);
      made.method = make_method(text);
      TORCH_CHECK_VALUE(made.method->memory() == nullptr, text,
                        ": remembers earlier steps, which an operator without state cannot; use it "
                        "in a training of the approxtrain program");
    }
  } catch (const Error& error) {
    TORCH_CHECK_VALUE(false, error.what());
  }
  if (known.size() >= kMost) known.clear();
  return known[text] = made;
}

// What every operator asks of a tensor; `what` names it in messages.
void check(const at::Tensor& tensor, const KnownMethod& known, const char* op, const char* what) {
  TORCH_CHECK_VALUE(tensor.defined(), op, ": ", what, " is missing");
  TORCH_CHECK_VALUE(tensor.layout() == at::kStrided, op, ": ", what, " must be strided, not ",
                    tensor.layout());
  // The exact product of PyTorch has one.
  TORCH_CHECK(known.method == nullptr || !tensor._fw_grad(0).defined(), op,
              ": has no derivative in forward mode (", what, " is a dual tensor): use backward");
  if (!tensor.is_meta()) {
    TORCH_CHECK(!at::isTensorSubclassLike(tensor), op, ": cannot be traced or transformed (", what,
                " is a wrapped tensor): call it outside torch.compile and torch.func, as under "
                "torch.compiler.disable");
    TORCH_CHECK_VALUE(tensor.is_cpu() || tensor.is_cuda(), op, ": ", what,
                      " must be on the CPU or a CUDA device, not ", tensor.device());
  }
  const auto type = tensor.scalar_type();
  const bool is_known =
      type == at::kFloat || type == at::kDouble || type == at::kHalf || type == at::kBFloat16;
  TORCH_CHECK_TYPE(is_known, op, ": ", what,
                   " must be of float32, float64, float16 or bfloat16, not ", type);
  // A program of ours opens them with its device.
  if (tensor.is_cuda()) {
    [[maybe_unused]] static const bool opened = open_cuda_kernels();
  }
}

void check_same(const at::Tensor& a, const at::Tensor& b, const char* op, const char* what) {
  TORCH_CHECK_VALUE(a.device() == b.device(), op, ": ", what, " is on ", b.device(),
                    ", the input on ", a.device());
  TORCH_CHECK_TYPE(
      a.scalar_type() == b.scalar_type() || at::autocast::is_autocast_enabled(a.device().type()),
      op, ": ", what, " is ", b.scalar_type(), ", the input ", a.scalar_type());
}

void check_bias(const at::Tensor& bias, const KnownMethod& known, const at::Tensor& x,
                const at::Tensor& w, const char* op) {
  if (!bias.defined()) return;
  check(bias, known, op, "bias");
  check_same(x, bias, op, "bias");
  TORCH_CHECK_VALUE(bias.dim() == 1 && bias.size(0) == w.size(0), op, ": bias must be [", w.size(0),
                    "], got ", bias.sizes());
}

LayerSlot slot_of(const KnownMethod& known, int64_t seed) {
  LayerSlot slot;
  for (const auto product : known.products) {
    slot.orders.methods[static_cast<size_t>(product)] = known.method.get();
  }
  slot.orders.seed = static_cast<uint64_t>(seed);
  slot.orders.norm_follows = kNormFollows;
  slot.orders.owner = known.method;
  return slot;
}

Spatial spatial(at::IntArrayRef values, const char* what, int64_t least) {
  TORCH_CHECK_VALUE(values.size() == 1 || values.size() == 2, "approxtrain::conv2d: ", what,
                    " must have one or two numbers, got ", values);
  TORCH_CHECK_VALUE(values.front() >= least && values.back() >= least,
                    "approxtrain::conv2d: ", what, " must be at least ", least, ", got ", values);
  return {values.front(), values.back()};
}

// As PyTorch's convolutions lay their result out.
at::Tensor laid_out_like(const at::Tensor& y, const at::Tensor& x, const at::Tensor& w) {
  constexpr auto kLast = at::MemoryFormat::ChannelsLast;
  const bool last = x.suggest_memory_format() == kLast || w.suggest_memory_format() == kLast;
  return y.contiguous(last ? kLast : at::MemoryFormat::Contiguous);
}

at::Tensor conv2d(const at::Tensor& x, const at::Tensor& w, const std::optional<at::Tensor>& bias,
                  at::IntArrayRef stride, at::IntArrayRef padding, at::IntArrayRef dilation,
                  int64_t groups, c10::string_view method, int64_t seed) {
  constexpr const char* kOp = "approxtrain::conv2d";
  const auto known = find_method(std::string(method));
  check(x, known, kOp, "x");
  check(w, known, kOp, "w");
  check_same(x, w, kOp, "w");
  TORCH_CHECK_VALUE(x.dim() == 4, kOp, ": x must be [N,C,H,W], got ", x.sizes());
  TORCH_CHECK_VALUE(w.dim() == 4, kOp, ": w must be [Co,Ci/groups,Kh,Kw], got ", w.sizes());
  TORCH_CHECK_VALUE(w.size(0) >= 1, kOp, ": w ", w.sizes(), " has no output channels");
  TORCH_CHECK_VALUE(groups >= 1 && w.size(0) % groups == 0 && x.size(1) == w.size(1) * groups, kOp,
                    ": x ", x.sizes(), " and w ", w.sizes(), " do not fit with ", groups,
                    " groups");
  const Geometry geometry{spatial(stride, "stride", 1), spatial(padding, "padding", 0),
                          spatial(dilation, "dilation", 1), groups};
  for (size_t d = 0; d < 2; ++d) {
    const int64_t taps = w.size(2 + static_cast<int64_t>(d));
    const int64_t room = x.size(2 + static_cast<int64_t>(d)) + 2 * geometry.padding.both()[d];
    TORCH_CHECK_VALUE(taps >= 1 && room > geometry.dilation.both()[d] * (taps - 1), kOp,
                      ": the kernel of w ", w.sizes(), " is larger than the padded x ", x.sizes());
  }
  const at::Tensor b = bias.value_or(at::Tensor());
  check_bias(b, known, x, w, kOp);
  if (known.method == nullptr || x.is_meta() || x.numel() == 0) {
    return at::conv2d(x, w, b, stride, padding, dilation, groups);
  }
  return laid_out_like(approximated_conv(x, w, b, geometry, slot_of(known, seed), /*layer=*/0), x,
                       w);
}

// x wT + bias; the names are those of the operator's arguments in messages.
struct LinearNames {
  const char *op, *x, *w;
};

at::Tensor linear_as(const LinearNames& names, const at::Tensor& x, const at::Tensor& w,
                     const at::Tensor& bias, const KnownMethod& known, int64_t seed) {
  check(x, known, names.op, names.x);
  check(w, known, names.op, names.w);
  check_same(x, w, names.op, names.w);
  check_bias(bias, known, x, w, names.op);
  if (known.method == nullptr || x.is_meta() || x.numel() == 0 || w.numel() == 0) {
    return at::linear(x, w, bias);
  }
  const auto rows = x.reshape({-1, x.size(-1), 1, 1});
  const auto y = approximated_conv(rows, w.unsqueeze(-1).unsqueeze(-1), bias, Geometry{},
                                   slot_of(known, seed), /*layer=*/0);
  auto sizes = x.sizes().vec();
  sizes.back() = w.size(0);
  return y.reshape(sizes);
}

at::Tensor linear(const at::Tensor& x, const at::Tensor& w, const std::optional<at::Tensor>& bias,
                  c10::string_view method, int64_t seed) {
  constexpr const char* kOp = "approxtrain::linear";
  const auto known = find_method(std::string(method));
  TORCH_CHECK_VALUE(x.dim() >= 1 && w.dim() == 2 && x.size(-1) == w.size(1), kOp, ": x ", x.sizes(),
                    " and w ", w.sizes(), " do not fit: w is [out,in]");
  return linear_as({kOp, "x", "w"}, x, w, bias.value_or(at::Tensor()), known, seed);
}

at::Tensor matmul(const at::Tensor& a, const at::Tensor& b, c10::string_view method, int64_t seed) {
  constexpr const char* kOp = "approxtrain::matmul";
  const auto known = find_method(std::string(method));
  TORCH_CHECK_VALUE(b.dim() == 2 && a.dim() >= 2 && a.size(-1) == b.size(0), kOp,
                    ": a must be [...,m,k] and b [k,n], got ", a.sizes(), " and ", b.sizes());
  return linear_as({kOp, "a", "b"}, a, b.t(), {}, known, seed);
}

at::Tensor prune(const at::Tensor& given, c10::string_view text, int64_t seed) {
  constexpr const char* kOp = "approxtrain::prune";
  const auto known = find_method(std::string(text));
  check(given, known, kOp, "dy");
  TORCH_CHECK_VALUE(given.dim() == 2 || given.dim() == 4, kOp,
                    ": dy must be [N,C] or [N,C,H,W], got ", given.sizes());
  TORCH_CHECK_VALUE(known.method == nullptr || known.method->looks_at_dy_alone(), kOp, ": ",
                    std::string(text), " does not prune a gradient");
  if (given.is_meta()) return at::empty_like(given);
  const at::NoGradGuard no_grad;
  const auto dy = given.detach();
  if (known.method == nullptr || dy.numel() == 0) return dy.clone();
  Operands o;
  o.dy = dy.dim() == 4 ? dy : dy.unsqueeze(-1).unsqueeze(-1);
  o.product = known.products.front();
  const MethodCall call{.rng = {.seed = static_cast<uint64_t>(seed), .product = o.product},
                        .norm_follows = kNormFollows};
  auto pruned = used_gradient(known.method->plan(o, call), o.dy);
  // Where dY is used as it is, the method may still prune what is computed from it.
  if (pruned.is_same(o.dy)) pruned = known.method->finish(o, o.dy.clone(), call).result;
  TORCH_CHECK_VALUE(pruned.defined(), kOp, ": ", std::string(text), " does not prune a gradient");
  return pruned.is_same(o.dy) ? dy.clone() : pruned.reshape(dy.sizes());
}

}  // namespace

TORCH_LIBRARY(approxtrain, library) {
  library.def(
      "conv2d(Tensor x, Tensor w, Tensor? bias=None, int[2] stride=1, int[2] padding=0, "
      "int[2] dilation=1, int groups=1, str method='dense', int seed=0) -> Tensor",
      &conv2d);
  library.def(
      "linear(Tensor x, Tensor w, Tensor? bias=None, str method='dense', int seed=0) -> Tensor",
      &linear);
  library.def("matmul(Tensor a, Tensor b, str method='dense', int seed=0) -> Tensor", &matmul);
  library.def("prune(Tensor dy, str method, int seed=0) -> Tensor", &prune);
}

}  // namespace approx
