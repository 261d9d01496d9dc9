// The operators under torch.func.vmap: one call for each example of the batch, each with its own
// slice of what is batched, such as the seed.
#include <ATen/ATen.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/stack.h>
#include <ATen/functorch/DynamicLayer.h>
#include <ATen/functorch/PlumbingHelper.h>
#include <torch/library.h>

#include <algorithm>
#include <utility>
#include <vector>

namespace approx {
namespace {

// The tensors of an argument or result.
std::vector<at::Tensor> tensors_of(const c10::IValue& value) {
  if (value.isTensor()) return {value.toTensor()};
  if (value.isTensorList()) return value.toTensorVector();
  return {};
}

// The slice of one example.
at::Tensor slice(const at::Tensor& tensor, int64_t level, int64_t example) {
  if (!tensor.defined()) return tensor;
  const auto [value, dim] = at::functorch::unwrapTensorAtLevel(tensor, level);
  return dim ? value.select(*dim, example) : value;
}

c10::IValue slice(const c10::IValue& value, int64_t level, int64_t example) {
  if (value.isTensor()) return slice(value.toTensor(), level, example);
  if (!value.isTensorList()) return value;
  auto tensors = value.toTensorVector();
  for (auto& tensor : tensors) tensor = slice(tensor, level, example);
  return c10::IValue(std::move(tensors));
}

void call_for_each_example(const c10::OperatorHandle& op, torch::jit::Stack* stack) {
  const c10::impl::ExcludeDispatchKeyGuard unbatched(c10::DispatchKey::FuncTorchBatched);
  const auto arguments = torch::jit::pop(*stack, op.schema().arguments().size());
  const auto layer = at::functorch::maybeCurrentDynamicLayer();
  const int64_t level = layer->layerId();
  const auto is_batched = [level](const c10::IValue& value) {
    return std::ranges::any_of(tensors_of(value), [level](const at::Tensor& tensor) {
      return tensor.defined() && at::functorch::isBatchedAtLevel(tensor, level);
    });
  };
  if (std::ranges::none_of(arguments, is_batched)) {
    stack->insert(stack->end(), arguments.begin(), arguments.end());
    op.callBoxed(stack);
    return;
  }
  const int64_t examples = layer->batchSize().guard_int(__FILE__, __LINE__);
  TORCH_CHECK_VALUE(examples > 0, op.schema().name(),
                    ": vmap over nothing (a dimension of size 0)");
  std::vector<std::vector<at::Tensor>> results;  // by output, then by example
  bool is_list = false;
  for (int64_t example = 0; example < examples; ++example) {
    torch::jit::Stack one;
    for (const auto& argument : arguments) one.push_back(slice(argument, level, example));
    op.callBoxed(&one);
    is_list = one.front().isTensorList();
    const auto outputs = tensors_of(one.front());
    results.resize(outputs.size());
    for (size_t i = 0; i < outputs.size(); ++i) results[i].push_back(outputs[i]);
  }
  std::vector<at::Tensor> stacked;
  for (const auto& each : results) {
    stacked.push_back(at::functorch::makeBatched(at::stack(each), 0, level));
  }
  if (is_list) {
    stack->emplace_back(std::move(stacked));
  } else {
    stack->emplace_back(stacked.front());
  }
}

}  // namespace

TORCH_LIBRARY_IMPL(approxtrain, FuncTorchBatched, library) {
  for (const char* name :
       {"conv2d", "conv2d.seeded", "linear", "linear.seeded", "matmul", "matmul.seeded", "prune",
        "prune.seeded", "_conv2d", "_conv2d_backward", "_conv2d_factors", "_prune"}) {
    library.impl(name, torch::CppFunction::makeFromBoxedFunction<&call_for_each_example>());
  }
}

}  // namespace approx
