#include "cli/bench/products.h"

#include <algorithm>

#include "base/error.h"
#include "base/known_names.h"
#include "cli/text.h"
#include "core/config/dense.h"
#include "core/engine/engine.h"

namespace approx {
namespace {

std::vector<Product> products_named(const std::vector<std::string>& ops) {
  std::vector<std::string> known = {"all"};
  for (const Product product : kAllProducts) known.emplace_back(name(product));
  for (const auto& op : ops) {
    if (std::find(known.begin(), known.end(), op) != known.end()) continue;
    throw usage_error("--op: unknown product \"{}\"{}", printable(op), known_names(op, known));
  }
  std::vector<Product> products;
  for (const Product product : kAllProducts) {
    const bool named = std::any_of(ops.begin(), ops.end(), [&](const std::string& op) {
      return op == "all" || op == name(product);
    });
    if (named) products.push_back(product);
  }
  return products;
}

bool contains(const std::vector<Product>& products, Product product) {
  return std::find(products.begin(), products.end(), product) != products.end();
}

}  // namespace

std::vector<BenchedProduct> benched_products(const Catalogue& catalogue,
                                             const std::vector<std::string>& ops,
                                             const std::vector<std::string>& methods,
                                             const std::vector<double>& densities) {
  std::vector<std::string> texts = methods;
  if (texts.empty() && densities.empty()) {
    for (const auto& info : catalogue.methods) {
      if (!info.stops_blocks) texts.push_back(info.name);  // a product by itself is not its work
    }
  }
  std::vector<BenchedProduct> benched;
  for (const Product product : products_named(ops)) benched.push_back({product, {}});
  for (const auto& text : texts) {
    const Params params = catalogue.method_params(text);
    const std::string full = params.full_text();
    const auto& info = catalogue.method(parse_spec(text).name);
    const auto& approximated = info.products_with(params);
    bool any = false;
    for (auto& [product, list] : benched) {
      if (info.name != kDense && !contains(approximated, product)) continue;
      list.push_back(full);
      any = true;
    }
    if (!any && !methods.empty()) {
      std::vector<std::string_view> names;
      for (const auto& each : benched) names.push_back(name(each.product));
      throw usage_error("--method: {} does not approximate {}", full, fmt::join(names, ", "));
    }
  }
  bool any_gradient = false;
  for (auto& [product, list] : benched) {
    if (product == Product::kForward) continue;
    for (const double density : densities) list.push_back(pruned_at_random_text(density));
    any_gradient = true;
  }
  if (!densities.empty() && !any_gradient) {
    throw usage_error(
        "--densities prune dY, which the forward product does not read; choose a gradient with "
        "--op");
  }
  std::erase_if(benched, [](const BenchedProduct& each) { return each.methods.empty(); });
  return benched;
}

}  // namespace approx
