// Figures of single layers, run by hand: each takes the arguments behind its name and returns the
// exit code.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

namespace approx {

inline double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

using CommandLine = std::vector<std::string>;

int benchmark_batch_norm(const CommandLine& arguments);
int benchmark_dense_layer(const CommandLine& arguments);
int benchmark_exact_products(const CommandLine& arguments);
int benchmark_one_position(const CommandLine& arguments);
int benchmark_sampled_products(const CommandLine& arguments);
int benchmark_sparse_products(const CommandLine& arguments);

}  // namespace approx
