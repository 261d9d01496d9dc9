// Every way to compute the exact products of the networks' layers, in turns: LibTorch's convolution
// in both layouts, the matrix products of kernels/dense/taps.cpp and matrix.cpp, the packed loops
// and the direct ones. Where their rules come from.
// Usage: layer_benchmarks [--avx2] exact_products [THREADS [PRODUCT [BATCH]]]
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "core/train/device.h"
#include "kernels/kernel.h"
#include "kernels/variant.h"
#include "tests/benchmarks/layers.h"

namespace approx {
namespace {

void compare_exact(const LayerShape& s, Product product) {
  const auto last = layer_operands(s, product, at::MemoryFormat::ChannelsLast);
  const auto first = layer_operands(s, product, at::MemoryFormat::Contiguous);
  auto names = variants(Dense{}, last);
  std::erase(names, kReference);
  const double flops = 2e-6 * static_cast<double>(dense_macs(last));  // divided by ms: GFLOP/s
  // More turns of small layers, whose times vary most.
  constexpr double kFlopsOfAll = 100e3;
  constexpr int kWarmUps = 2;
  const int rounds = std::clamp(static_cast<int>(kFlopsOfAll / flops), 11, 51);
  std::map<std::string, std::vector<double>> times;
  std::vector<double> channels_first;
  for (int round = 0; round < kWarmUps + rounds; ++round) {
    const double in_other_layout = milliseconds(Dense{}, first, "libtorch");
    if (round >= kWarmUps) channels_first.push_back(in_other_layout);
    for (const auto& name : names) {
      const double time = milliseconds(Dense{}, last, name);
      if (round >= kWarmUps) times[name].push_back(time);
    }
  }
  const double library = std::min(median(times["libtorch"]), median(channels_first));
  const auto* taken = choose<Dense>(problem_of(last));
  print_layer(s, product);
  fmt::print(" {:.2f} | {:.2f} |", median(times["libtorch"]), median(channels_first));
  for (const auto* ours : {"matrix", "taps", "packed", "direct"}) {
    if (!times.contains(ours)) {
      fmt::print(" |");
      continue;
    }
    const double time = median(times[ours]);
    fmt::print(" {:.2f} ({:.2f}, {:.0f} GF/s) |", time, library / time, flops / time);
  }
  fmt::print(" {} |\n", taken->name);
}

}  // namespace

int benchmark_exact_products(const CommandLine& arguments) {
  configure_threads(arguments.empty() ? 2 : std::stoi(arguments[0]));
  fmt::print(
      "| N, Ci, map, Co, kernel/stride | product | libtorch ms | channels first | matrix ms (ratio "
      "to "
      "the better) | taps | packed | direct | taken |\n|---|---|---|---|---|---|---|---|---|\n");
  std::vector<LayerShape> shapes = {
      {128, 3, 32, 16, 3, 1, 1},    {128, 16, 32, 16, 3, 1, 1},   {128, 16, 32, 32, 3, 2, 1},
      {128, 32, 16, 32, 3, 1, 1},   {128, 32, 16, 64, 3, 2, 1},   {128, 64, 8, 64, 3, 1, 1},
      {128, 3, 32, 64, 3, 1, 1},    {128, 64, 32, 64, 3, 1, 1},   {128, 64, 32, 128, 3, 2, 1},
      {128, 128, 16, 128, 3, 1, 1}, {128, 64, 32, 128, 1, 2, 0},  {128, 128, 16, 256, 3, 2, 1},
      {128, 256, 8, 256, 3, 1, 1},  {128, 128, 16, 256, 1, 2, 0}, {128, 256, 8, 512, 3, 2, 1},
      {128, 512, 4, 512, 3, 1, 1},  {128, 256, 8, 512, 1, 2, 0},  {128, 64, 16, 128, 3, 1, 1},
      {128, 256, 4, 512, 3, 1, 1},  {128, 512, 2, 512, 3, 1, 1},  {128, 64, 16, 64, 5, 1, 2},
      {16, 160, 32, 160, 3, 1, 1},  {16, 320, 16, 320, 3, 1, 1},  {16, 640, 8, 640, 3, 1, 1},
      {8, 64, 56, 64, 3, 1, 1},     {8, 128, 28, 128, 3, 1, 1},   {8, 256, 14, 256, 3, 1, 1},
      {8, 512, 7, 512, 3, 1, 1},    {8, 64, 56, 256, 1, 1, 0},    {8, 512, 28, 128, 1, 1, 0},
      {8, 1024, 14, 256, 1, 1, 0},  {8, 2048, 7, 512, 1, 1, 0},   {64, 9216, 1, 4096, 1, 1, 0},
      {50, 784, 1, 500, 1, 1, 0},   {32, 512, 4, 512, 3, 1, 1},   {32, 64, 32, 64, 3, 1, 1}};
  if (arguments.size() > 2) {  // those of 128 images, with so many
    std::erase_if(shapes, [](const LayerShape& s) { return s.n != 128; });
    for (auto& shape : shapes) shape.n = std::stoi(arguments[2]);
  }
  compare_layers(arguments, kAllProducts, shapes, compare_exact);
  return 0;
}

}  // namespace approx
