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
// their defaults, or none where there are `densities`, at each of which both gradients are measured
// of a dY pruned at random (pruned_at_random_text). Each product has the methods that approximate
// it with their parameters, and "dense" where it is named; one without any is left out. Throws
// Error(kUsage) for a name that is unknown, for a method that approximates none of the products,
// and for densities without a gradient.
std::vector<BenchedProduct> benched_products(const Catalogue& catalogue,
                                             const std::vector<std::string>& ops,
                                             const std::vector<std::string>& methods,
                                             const std::vector<double>& densities = {});

}  // namespace approx
