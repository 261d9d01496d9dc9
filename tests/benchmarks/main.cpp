// layer_benchmarks NAME [ARGUMENTS...]
#include <cstdio>
#include <map>

#include "tests/benchmarks/benchmarks.h"

int main(int argc, char** argv) {
  static const std::map<std::string, int (*)(const approx::CommandLine&)> kBenchmarks = {
      {"batch_norm", approx::benchmark_batch_norm},
      {"dense_layer", approx::benchmark_dense_layer},
      {"exact_products", approx::benchmark_exact_products},
      {"one_position", approx::benchmark_one_position},
      {"sampled_products", approx::benchmark_sampled_products},
      {"sparse_products", approx::benchmark_sparse_products}};
  const auto found = kBenchmarks.find(argc > 1 ? argv[1] : "");
  if (found != kBenchmarks.end()) return found->second({argv + 2, argv + argc});
  std::fprintf(stderr, "usage: layer_benchmarks NAME [ARGUMENTS...]; names:");
  for (const auto& [name, run] : kBenchmarks) std::fprintf(stderr, " %s", name.c_str());
  std::fprintf(stderr, "\n");
  return 2;
}
