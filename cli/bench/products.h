// The products that are benchmarked, each with its methods.
#pragma once

#include <string>
#include <vector>

#include "core/config/catalogue.h"

namespace approx {

struct BenchedProduct {
  Product product = Product::kWeightGradient;
  std::vector<std::string> methods;  // with all parameters
};

// Selects products and their methods. `ops` are names of products; "all" is all three. `methods`
// are texts. If there are none, all methods are taken with their defaults, unless there are
// `densities`. At each of the `densities`, both gradients are measured with a dY pruned at random
// (pruned_at_random_text). Each product gets the methods that approximate it with their parameters,
// and "dense" if named. A product without a method is left out. Throws Error(kUsage) for an unknown
// name, for a method that approximates none of the products, and for densities without a gradient.
std::vector<BenchedProduct> benched_products(const Catalogue& catalogue,
                                             const std::vector<std::string>& ops,
                                             const std::vector<std::string>& methods,
                                             const std::vector<double>& densities = {});

}  // namespace approx
