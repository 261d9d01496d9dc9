// Products as JSON: an array of their names.
#pragma once

#include <vector>

#include "base/json.h"
#include "products/product.h"

namespace approx {

Json product_names(const std::vector<Product>& products);

// Reads an array of product_names(). Leaves out names that no product has.
std::vector<Product> products_from(const Json& names);

}  // namespace approx
