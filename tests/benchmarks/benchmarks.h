// Figures of single layers, run by hand: each takes the arguments behind its name and returns the
// exit code.
#pragma once

#include <string>
#include <vector>

namespace approx {

using CommandLine = std::vector<std::string>;

int benchmark_batch_norm(const CommandLine& arguments);
int benchmark_dense_layer(const CommandLine& arguments);
int benchmark_exact_products(const CommandLine& arguments);

}  // namespace approx
