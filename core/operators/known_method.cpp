#include "core/operators/known_method.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>
#include <c10/core/impl/LocalDispatchKeySet.h>

#include <algorithm>
#include <array>
#include <map>
#include <mutex>
#include <variant>

#include "base/error.h"
#include "core/config/dense.h"
#include "core/methods/freezing.h"
#include "kernels/operands.h"

namespace approx {
namespace {

// Nothing is known of the network: placement=auto prunes dY.
constexpr bool kNormFollows = true;

// While it lives, operators of PyTorch compute with numbers. A trace sends them to kernels that
// know shapes alone, and methods compute with tensors of their own when they are made or asked.
class WithNumbers {
 private:
  at::NoGradGuard no_grad_;
  c10::impl::ForceDispatchKeyGuard kernels_{
      c10::default_included_set,
      c10::default_excluded_set | c10::autograd_dispatch_keyset_with_ADInplaceOrView};
};

// Operands of the smallest layer with so many input channels. They stand for operands that hold no
// numbers, where a method is asked what does not depend on numbers.
Operands stand_in(int64_t input_channels, int64_t groups, Product product) {
  return {.x = at::zeros({1, input_channels, 1, 1}, at::kFloat),
          .w = at::zeros({groups, input_channels / groups, 1, 1}, at::kFloat),
          .dy = at::zeros({1, groups, 1, 1}, at::kFloat),
          .geometry = {1, 0, 1, groups},
          .product = product,
          .input_sizes = {1, input_channels, 1, 1}};
}

bool freezes(Method& method, const std::vector<Product>& products) {
  if (!method.abstains() ||
      std::ranges::find(products, Product::kWeightGradient) == products.end()) {
    return false;
  }
  const auto plan = method.plan(stand_in(1, 1, Product::kWeightGradient), {});
  const auto* skip = std::get_if<Skip>(&plan);
  return skip != nullptr && skip->freeze;
}

// Methods whose products are linear in dY, x and w once what they chose is held fixed: entries,
// channels, examples, and the factor on each.
bool is_linear_once_chosen(const std::string& name, const Params& params) {
  static constexpr std::array kAlways = std::to_array<std::string_view>(
      {"exact", "zero", "random", "crs", "bernoulli_crs", "topk_crs", "topk_weights", "uniform_crs",
       "wta_crs", "meprop", "random_entries", "sdgp"});
  if (std::ranges::find(kAlways, name) != kAlways.end()) return true;
  // Otherwise dX is pruned, which is no product.
  if (name == "stochastic_pruning") return params.text("placement") != "input";
  // Otherwise the chosen positions carry sums of others.
  return name == "topk_position" && params.text("scale") == "none";
}

Known parsed(std::string_view given) {
  const std::string text(given);
  auto known = std::make_shared<KnownMethod>();
  known->text = text;
  static const Catalogue catalogue = library_methods();
  const Spec spec = parse_spec(text);
  const Params params = catalogue.method_params(text);  // of "dense", too, which has none
  TORCH_CHECK_VALUE(
      !is_mixed(spec.name), text,
      ": names no approximation but a choice by schedules of the approxtrain program; "
      "name one method");
  if (is_dense(spec.name)) return known;
  const MethodInfo& info = catalogue.method(spec.name);
  TORCH_CHECK_VALUE(!info.stops_blocks, text,
                    ": stops residual branches, of which a layer knows nothing; use it in a "
                    "training of the approxtrain program");
  known->products = info.products_with(params);
  known->least_channels = info.least_channels(params);
  known->draws_one_sample =
      !info.products_of_mode.empty() && known->products.size() > 1 &&
      std::ranges::find(known->products, Product::kForward) != known->products.end();
  known->method = make_method(text);
  auto& method = *known->method;
  TORCH_CHECK_VALUE(dynamic_cast<const FreezingMethod*>(&method) == nullptr, text,
                    ": ends the backward pass of a network, of which a layer knows nothing; set "
                    "requires_grad = False on its first modules instead");
  TORCH_CHECK_VALUE(!method.drops_examples(), text,
                    ": keeps examples out of batch norms, of which a layer knows nothing; use "
                    "norm=resample, or a training of the approxtrain program");
  TORCH_CHECK_VALUE(method.memory() == nullptr, text,
                    ": remembers earlier steps, which an operator without state cannot; use it "
                    "in a training of the approxtrain program");
  auto& orders = known->slot.orders;
  for (const auto product : known->products) {
    orders.methods[static_cast<size_t>(product)] = &method;
  }
  orders.norm_follows = kNormFollows;
  orders.owner = known->method;
  known->freezes_weight = freezes(method, known->products);
  known->samples_once = orders.of(Product::kForward) != nullptr &&
                        orders.of(Product::kWeightGradient) != nullptr &&
                        method.keep() == Method::Keep::kSample;
  known->has_fixed_sample = known->samples_once && method.waits_for().empty();
  known->has_second_derivative = is_linear_once_chosen(spec.name, params);
  return known;
}

}  // namespace

bool KnownMethod::plans_again() const {
  const bool gradients = slot.orders.of(Product::kDataGradient) != nullptr ||
                         slot.orders.of(Product::kWeightGradient) != nullptr;
  return slot.orders.of(Product::kForward) != nullptr && gradients && !has_fixed_sample;
}

std::optional<Sampled> KnownMethod::shape_of_sample(int64_t input_channels, int64_t groups) const {
  if (!has_fixed_sample || input_channels == 0) return std::nullopt;
  const WithNumbers with_numbers;
  const auto plan = method->plan(stand_in(input_channels, groups, Product::kForward), {});
  if (const auto* sampled = std::get_if<Sampled>(&plan)) return *sampled;
  return std::nullopt;
}

Known find_method(std::string_view text) {
  static std::mutex mutex;
  static std::map<std::string, Known, std::less<>> known;
  constexpr size_t kMost = 1024;  // texts; a program that makes up more pays for parsing
  const std::lock_guard lock(mutex);
  if (const auto found = known.find(text); found != known.end()) return found->second;
  try {
    const WithNumbers with_numbers;
    const auto made = parsed(text);
    if (known.size() >= kMost) known.clear();
    known.emplace(std::string(text), made);
    return made;
  } catch (const Error& error) {
    TORCH_CHECK_VALUE(false, error.what());
  }
}

Known restricted(const Known& known, int64_t products) {
  const auto left_out = [products](Product product) { return (products & bit(product)) == 0; };
  if (std::ranges::none_of(known->products, left_out)) return known;
  auto part = std::make_shared<KnownMethod>(*known);
  for (const auto product : known->products) {
    if (left_out(product)) part->slot.orders.methods[static_cast<size_t>(product)] = nullptr;
  }
  std::erase_if(part->products, left_out);
  part->freezes_weight = known->freezes_weight && !left_out(Product::kWeightGradient);
  part->samples_once =
      known->samples_once && !left_out(Product::kForward) && !left_out(Product::kWeightGradient);
  part->has_fixed_sample = known->has_fixed_sample && part->samples_once;
  return part;
}

}  // namespace approx
