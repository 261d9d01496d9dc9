#include "core/nn/branch.h"

#include <ATen/ATen.h>

#include <utility>

#include "core/nn/alive_rows.h"
#include "core/nn/layer_products.h"
#include "kernels/example_rows.h"

namespace approx {
namespace {

// A gradient with the examples that the method of a layer's data gradient samples. `layer` keys the
// draws, in a stream of their own.
at::Tensor sampled_gradient(const LayerSlot& slot, uint32_t layer, const at::Tensor& gradient) {
  const Operands operands{.x = {},
                          .w = {},
                          .dy = gradient,
                          .geometry = {},
                          .product = Product::kDataGradient,
                          .input_sizes = gradient.sizes().vec()};
  auto call = gradient_call(slot, layer, Product::kDataGradient, /*forward=*/nullptr);
  call.rng.stream = kBlockStream;
  call.alive = alive_rows(gradient);
  auto* method = slot.orders.of(Product::kDataGradient);
  const auto plan = method->plan(operands, call);
  const auto* sample = std::get_if<Sampled>(&plan);
  if (sample == nullptr) return gradient;
  auto part = take_examples(gradient, sample->index);
  if (sample->scale.defined()) {
    part = (part * sample->scale.view({-1, 1, 1, 1})).to(gradient.scalar_type());
  }
  const auto whole = put_examples(part, sample->index, gradient.size(0));
  if (const auto ratio = method->drops_examples()) note_alive_rows(whole, {sample->index, *ratio});
  return whole;
}

}  // namespace

at::Tensor with_scaled_gradient(at::Tensor y, double factor) {
  if (factor != 1 && y.requires_grad()) {
    y.register_hook([factor](const at::Tensor& gradient) { return gradient * factor; });
  }
  return y;
}

at::Tensor BranchImpl::scaled(at::Tensor y) const {
  return with_scaled_gradient(std::move(y), in_effect().scale);
}

at::Tensor BranchImpl::sum(at::Tensor y) const {
  if (!is_training() || orders.stopped || !y.requires_grad()) return y;
  const auto& last = *layers_.back();
  const auto* method = last.slot.orders.of(Product::kDataGradient);
  if (method == nullptr || !method->samples_blocks()) return y;
  y.register_hook([slot = last.slot, layer = draws_number(last.info)](const at::Tensor& gradient) {
    return sampled_gradient(slot, layer, gradient);
  });
  return y;
}

}  // namespace approx
