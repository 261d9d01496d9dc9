#include "core/methods/method.h"

#include <ATen/ATen.h>

#include <utility>

namespace approx {
namespace {

// Where sums and products of numbers of this type are made.
at::ScalarType at_least_float(at::ScalarType type) {
  return type == at::kHalf || type == at::kBFloat16 ? at::kFloat : type;
}

}  // namespace

at::Tensor MethodCall::unscaled(const at::Tensor& gradient) const {
  const auto wide = gradient.to(at_least_float(gradient.scalar_type()));
  return loss_scale.defined() ? wide / loss_scale : wide;
}

at::Tensor MethodCall::scaled(const at::Tensor& gradient, at::ScalarType type) const {
  return (loss_scale.defined() ? gradient * loss_scale : gradient).to(type);
}

MethodEntry& MethodEntry::modes(std::vector<Mode> list, std::string help) {
  products_of_mode = std::move(list);
  ParamSpec spec{.name = kMode, .fallback = products_of_mode.front().choice, .help = {}};
  spec.help = std::move(help);
  for (const auto& mode : products_of_mode) spec.choices.push_back(mode.choice);
  return param(std::move(spec));
}

MethodEntry& MethodEntry::without_mode(std::string_view choice) {
  std::erase_if(products_of_mode, [&](const Mode& mode) { return mode.choice == choice; });
  for (auto& spec : params) {
    if (spec.name == kMode) std::erase(spec.choices, choice);
  }
  return *this;
}

std::unique_ptr<Method> make_method(std::string_view text) {
  const Spec spec = parse_spec(text);
  const auto& entry = Registry<MethodEntry>::instance().find(spec.name);
  return entry.make(Params(entry.params, spec));
}

Catalogue library_methods() {
  Catalogue catalogue;
  for (const auto* entry : Registry<MethodEntry>::instance().all()) {
    catalogue.methods.push_back(*entry);
  }
  return catalogue;
}

}  // namespace approx
