// layer_benchmarks [--avx2] NAME [ARGUMENTS...]
// --avx2: no wider vectors than AVX2's, neither in the libraries nor in our own loops.
#include <hwy/targets.h>

#include <cstdio>
#include <cstdlib>
#include <map>
#include <string_view>

#include "tests/benchmarks/benchmarks.h"

namespace {

// Before any library has looked at the processor.
void limit_to_avx2() {
#if HWY_ARCH_X86
  setenv("ONEDNN_MAX_CPU_ISA", "AVX2", /*overwrite=*/1);
  setenv("ATEN_CPU_CAPABILITY", "avx2", /*overwrite=*/1);
  setenv("MKL_ENABLE_INSTRUCTIONS", "AVX2", /*overwrite=*/1);
  hwy::DisableTargets(HWY_AVX2 - 1);  // wider ones have lower bits
#endif
}

}  // namespace

int main(int argc, char** argv) {
  if (argc > 1 && std::string_view(argv[1]) == "--avx2") {
    limit_to_avx2();
    --argc, ++argv;
  }
  static const std::map<std::string, int (*)(const approx::CommandLine&)> kBenchmarks = {
      {"batch_norm", approx::benchmark_batch_norm},
      {"dense_layer", approx::benchmark_dense_layer},
      {"exact_products", approx::benchmark_exact_products},
      {"one_position", approx::benchmark_one_position},
      {"sampled_products", approx::benchmark_sampled_products},
      {"sparse_products", approx::benchmark_sparse_products}};
  const auto found = kBenchmarks.find(argc > 1 ? argv[1] : "");
  if (found != kBenchmarks.end()) return found->second({argv + 2, argv + argc});
  std::fprintf(stderr, "usage: layer_benchmarks [--avx2] NAME [ARGUMENTS...]; names:");
  for (const auto& [name, run] : kBenchmarks) std::fprintf(stderr, " %s", name.c_str());
  std::fprintf(stderr, "\n");
  return 2;
}
