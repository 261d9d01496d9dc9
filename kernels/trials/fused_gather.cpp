// The variants "fused_gather_*" of products under a sample of channels: the weights are gathered by
// one small launch, and the next multiplies what it reads through the list.
#include <ATen/ops/empty.h>

#include "kernels/gpu/start.h"
#include "kernels/kernel.h"
#include "kernels/numbers_of.h"
#include "kernels/trials/fused_product.h"
#include "kernels/trials/sixteens.h"
#include "kernels/variant.h"

namespace approx {
namespace {

int64_t pixels_in(const at::Tensor& maps) { return maps.size(0) * maps.size(2) * maps.size(3); }

// Room for the gathered weights, of at least so many rows.
template <typename Number>
void gather_to(FusedProduct<Number>& product, int64_t rows, const at::Tensor& like) {
  auto& weights = product.weights;
  weights.padded_rows = in_multiples(rows, kPaddedDepth);
  weights.padded_depth = in_multiples(weights.depth, kPaddedDepth);
  product.memory.push_back(at::empty({weights.padded_rows, weights.padded_depth},
                                     like.options().memory_format(c10::nullopt)));
  weights.out = mutable_numbers_of<Number>(product.memory.back());
}

}  // namespace

bool goes_through_list(const Sampled& plan, const Operands& o) {
  const bool of_channels = plan.axis != Axis::kExamples;
  const bool in_forward = plan.axis == Axis::kInputChannels;
  return plan.index.device() == o.w.device() &&
         (o.product == Product::kDataGradient ? of_channels
                                              : o.product == Product::kForward && in_forward);
}

template <typename Number>
FusedProduct<Number> fused_product(const Sampled& plan, const Operands& o) {
  const Problem p = problem_of(o);
  const int64_t kept = plan.index.numel();
  const bool forward = o.product == Product::kForward;
  FusedProduct<Number> product;
  product.sums = forward || plan.axis == Axis::kOutputChannels;
  product.result = at::empty(result_sizes(p), o.w.options().memory_format(c10::nullopt),
                             at::MemoryFormat::ChannelsLast);
  const auto from = forward ? o.x.contiguous(at::MemoryFormat::ChannelsLast) : in_sixteens(o.dy);
  const auto w = o.w.contiguous(at::MemoryFormat::ChannelsLast);  // [Co,Ci] in memory
  const auto index = plan.index.contiguous();
  const auto scale = plan.scale.defined() ? plan.scale.contiguous() : plan.scale;
  product.memory = {from, w, index, scale};
  const auto* of_index = index.template const_data_ptr<int64_t>();
  const auto* of_scale = scale.defined() ? scale.template const_data_ptr<float>() : nullptr;
  auto& weights = product.weights;
  weights = {.w = numbers_of<Number>(w),
             .of_row = forward ? p.ci : 1,
             .of_depth = forward ? 1 : p.ci,
             .index = of_index};
  if (product.sums) {
    weights.rows = forward ? p.co : p.ci;
    weights.depth = kept;
    weights.scale = of_scale;
    gather_to(product, in_multiples(weights.rows, kPaddedColumns), o.w);
    // Where x is the sample itself there is nothing to look up.
    const bool is_sample = forward && from.size(1) == kept && kept != p.ci;
    product.sum = {.pixels = pixels_in(from),
                   .columns = weights.rows,
                   .channels = from.size(1),
                   .kept = kept,
                   .from = numbers_of<Number>(from),
                   .index = is_sample ? nullptr : of_index,
                   .weights = weights.out,
                   .depth = weights.padded_depth,
                   .out = mutable_numbers_of<Number>(product.result)};
    return product;
  }
  weights.rows = kept;
  weights.depth = p.co;
  weights.list_on_rows = true;
  gather_to(product, kept + kPaddedColumns, o.w);
  product.spread = {.pixels = pixels_in(from),
                    .channels = p.ci,
                    .kept = kept,
                    .terms = p.co,
                    .from = numbers_of<Number>(from),
                    .index = of_index,
                    .scale = of_scale,
                    .weights = weights.out,
                    .depth = weights.padded_depth,
                    .out = mutable_numbers_of<Number>(product.result)};
  return product;
}

template FusedProduct<BFloat16> fused_product<BFloat16>(const Sampled&, const Operands&);
template FusedProduct<Float16> fused_product<Float16>(const Sampled&, const Operands&);

namespace {

template <typename Number>
at::Tensor gathered_in_loads(const Sampled& plan, const Operands& o) {
  // A rule knows the shape of a product and not the axis of its sample.
  if (!goes_through_list(plan, o)) return run(plan, o, "gather");
  const auto product = fused_product<Number>(plan, o);
  start(product.weights, o.w.device());
  if (product.sums) {
    start(product.sum, o.w.device());
  } else {
    start(product.spread, o.w.device());
  }
  return product.result;
}

// Whether the library of kernels is open, too.
bool fused_gather_fits(const Problem& p) {
  return launch_of<SampleSum<BFloat16>>() != nullptr && takes_fused_gather(p);
}

// On an H200 (docs/internals/gpu.md) slower than the exact product on every layer but the data
// gradient of one, so the built-in table of rules has no rows of these.
REGISTER_KERNEL(Sampled, "fused_gather_bf16", gathered_in_loads<BFloat16>)
    .computes({Product::kForward, Product::kDataGradient})
    .on({Hardware::kCuda})
    .reads({ElementType::kBFloat16})
    .where(fused_gather_fits)
    .ruled_against("gather")
    .rank(-1);

REGISTER_KERNEL(Sampled, "fused_gather_fp16", gathered_in_loads<Float16>)
    .computes({Product::kForward, Product::kDataGradient})
    .on({Hardware::kCuda})
    .reads({ElementType::kHalf})
    .where(fused_gather_fits)
    .ruled_against("gather")
    .rank(-1);

}  // namespace
}  // namespace approx
