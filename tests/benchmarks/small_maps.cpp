// The exact products of 3x3 and 1x1 convolutions on small maps and of linear layers: LibTorch's
// convolution in both layouts against the matrix products of kernels/dense/taps.cpp and matrix.cpp,
// in turns. Where their rules come from. Usage: layer_benchmarks small_maps [THREADS]
#include <ATen/ATen.h>
#include <fmt/format.h>

#include <algorithm>
#include <chrono>

#include "core/train/device.h"
#include "kernels/kernel.h"
#include "kernels/variant.h"
#include "tests/benchmarks/benchmarks.h"

namespace approx {
namespace {

struct MapShape {
  int64_t n, ci, size, co, kernel = 3;
};

Operands operands_of(const MapShape& s, Product product, at::MemoryFormat format) {
  const auto draw = [&](at::IntArrayRef sizes) { return at::randn(sizes).contiguous(format); };
  Operands o{.x = draw({s.n, s.ci, s.size, s.size}),
             .w = draw({s.co, s.ci, s.kernel, s.kernel}),
             .dy = draw({s.n, s.co, s.size, s.size}),
             .geometry = {.padding = s.kernel / 2},
             .product = product};
  o.input_sizes = o.x.sizes().vec();
  return o;
}

double milliseconds(const Operands& o, std::string_view variant) {
  const auto before = std::chrono::steady_clock::now();
  const auto result = run(Dense{}, o, variant);
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - before)
      .count();
}

void compare(const MapShape& s) {
  for (const auto product : kAllProducts) {
    const auto last = operands_of(s, product, at::MemoryFormat::ChannelsLast);
    const auto first = operands_of(s, product, at::MemoryFormat::Contiguous);
    const bool pointwise = s.kernel == 1;
    std::array<std::vector<double>, 3> times;
    for (int i = 0; i < 12; ++i) {
      const std::array now = {milliseconds(last, "libtorch"), milliseconds(first, "libtorch"),
                              milliseconds(last, pointwise ? "matrix" : "taps")};
      for (size_t way = 0; i >= 2 && way < now.size(); ++way) times[way].push_back(now[way]);
    }
    std::array<double, 3> median{};
    for (size_t way = 0; way < times.size(); ++way) {
      std::sort(times[way].begin(), times[way].end());
      median[way] = times[way][times[way].size() / 2];
    }
    const bool pays = choose<Dense>(problem_of(last))->name != "libtorch";
    fmt::print("| {},{},{}x{},{},{} | {} | {:.1f} | {:.1f} | {:.1f} | {:.2f} | {} |\n", s.n, s.ci,
               s.size, s.size, s.co, s.kernel, name(product), median[0], median[1], median[2],
               std::min(median[0], median[1]) / median[2], pays ? "yes" : "");
  }
}

}  // namespace

int benchmark_small_maps(const CommandLine& arguments) {
  configure_threads(arguments.empty() ? 2 : std::stoi(arguments[0]));
  fmt::print(
      "| N, Ci, map, Co, kernel | product | channels last ms | channels first ms | matrix products "
      "ms | "
      "ratio | taken "
      "|\n|---|---|---|---|---|---|---|\n");
  for (const auto& shape :
       std::vector<MapShape>{{128, 512, 2, 512},  {128, 256, 4, 512},     {128, 512, 4, 512},
                             {32, 512, 4, 512},   {8, 512, 7, 512},       {128, 128, 4, 128},
                             {128, 128, 8, 128},  {128, 256, 8, 256},     {16, 640, 8, 640},
                             {8, 256, 14, 256},   {64, 64, 8, 64},        {64, 64, 16, 64},
                             {64, 128, 16, 128},  {16, 320, 16, 320},     {32, 64, 32, 64},
                             {8, 128, 28, 128},   {64, 3136, 1, 1024, 1}, {50, 784, 1, 500, 1},
                             {50, 500, 1, 10, 1}, {64, 9216, 1, 4096, 1}, {32, 512, 2, 2048, 1},
                             {32, 256, 8, 64, 1}, {8, 2048, 7, 512, 1},   {8, 1024, 14, 256, 1},
                             {8, 512, 28, 128, 1}}) {
    compare(shape);
  }
  return 0;
}

}  // namespace approx
