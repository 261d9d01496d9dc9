// Which products are benchmarked by which methods.
#pragma once

#include <string>
#include <vector>

#include "core/config/catalogue.h"

namespace approx {

struct BenchedProduct {
  Product product = Product::kWeightGradient;
  std::vector<std::string> methods;  // full texts
};

// `ops`: names of products; "all" is all three. `methods`: texts; none: all that there are, with
// their defaults. Each product has the methods that approximate it with their parameters, and
// "dense" where it is named; one without any is left out. Throws Error(kUsage) for a name that is
// unknown and for a method that approximates none of the products.
std::vector<BenchedProduct> benched_products(const Catalogue& catalogue,
                                             const std::vector<std::string>& ops,
                                             const std::vector<std::string>& methods);

}  // namespace approx
