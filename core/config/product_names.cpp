#include "core/config/product_names.h"

#include <nlohmann/json.hpp>
#include <string>

namespace approx {

Json product_names(const std::vector<Product>& products) {
  Json names = Json::array();
  for (const auto product : products) names.push_back(name(product));
  return names;
}

std::vector<Product> products_from(const Json& names) {
  std::vector<Product> products;
  for (const std::string text : names) {
    for (const auto product : kAllProducts) {
      if (name(product) == text) products.push_back(product);
    }
  }
  return products;
}

}  // namespace approx
