// The gradients of a dY that holds many zeros, by the kernels that leave them out, in turns with
// the exact product of a full one. Where the rules of kernels/pruned_dy come from. Usage:
// layer_benchmarks sparse_products [THREADS [PRODUCT]]
// layer_benchmarks one_position [THREADS]: the weight gradient of one entry of every plane.
#include <ATen/TensorOperators.h>
#include <ATen/ops/rand.h>
#include <fmt/format.h>

#include <array>

#include "core/train/device.h"
#include "kernels/select/select.h"
#include "tests/benchmarks/layers.h"

namespace approx {
namespace {

constexpr double kDensities[] = {0.6, 0.5, 0.45, 0.4, 0.3, 0.2, 0.15, 0.1, 0.05, 0.01};

void compare_sparse(const LayerShape& s, Product product) {
  constexpr int kWarmUps = 2, kRounds = 9;
  const auto o = layer_operands(s, product, at::MemoryFormat::ChannelsLast);
  const std::string ours = product == Product::kDataGradient ? "sparse_rows" : "sparse_lists";
  std::vector<Plan> plans;
  for (const double density : kDensities) {
    const auto kept = at::rand(o.dy.sizes()).contiguous(at::MemoryFormat::ChannelsLast) < density;
    plans.emplace_back(counted(o.dy * kept));
  }
  const auto names = variants(plans.front(), o);
  if (std::find(names.begin(), names.end(), ours) == names.end()) return;
  std::vector<double> dense;
  std::vector<std::vector<double>> sparse(plans.size());
  for (int round = 0; round < kWarmUps + kRounds; ++round) {
    const double exact = milliseconds(Dense{}, o, {});
    if (round >= kWarmUps) dense.push_back(exact);
    for (size_t i = 0; i < plans.size(); ++i) {
      const double time = milliseconds(plans[i], o, ours);
      if (round >= kWarmUps) sparse[i].push_back(time);
    }
  }
  print_layer(s, product);
  fmt::print(" {:.2f} |", median(dense));
  for (const auto& times : sparse) {
    fmt::print(" {:.2f} ({:.2f}) |", median(times), median(dense) / median(times));
  }
  fmt::print("\n");
}

// One position of every plane: patches added in memory against lists.
void compare_positions(const LayerShape& s) {
  constexpr int kWarmUps = 2, kRounds = 9;
  const auto o = layer_operands(s, Product::kWeightGradient, at::MemoryFormat::ChannelsLast);
  const auto [position, value] = plane_peak(o.dy);
  const Plan plan = SparseDY::from_topk(position, value);
  std::vector<double> dense, lists, patches;
  for (int round = 0; round < kWarmUps + kRounds; ++round) {
    const double exact = milliseconds(Dense{}, o, {});
    const double listed = milliseconds(plan, o, "lists"), added = milliseconds(plan, o, "simd");
    if (round < kWarmUps) continue;
    dense.push_back(exact);
    lists.push_back(listed);
    patches.push_back(added);
  }
  print_layer(s, Product::kWeightGradient);
  fmt::print(" {:.2f} | {:.2f} ({:.2f}) | {:.2f} ({:.2f}) |\n", median(dense), median(lists),
             median(dense) / median(lists), median(patches), median(dense) / median(patches));
}

}  // namespace

int benchmark_one_position(const CommandLine& arguments) {
  configure_threads(arguments.empty() ? 2 : std::stoi(arguments[0]));
  fmt::print(
      "| N, Ci, map, Co, kernel/stride | product | exact ms | lists ms (ratio) | simd ms "
      "(ratio) |\n|---|---|---|---|---|\n");
  for (const LayerShape& shape : std::vector<LayerShape>{{128, 64, 32, 64, 3, 1, 1},
                                                         {128, 128, 16, 128, 3, 1, 1},
                                                         {128, 64, 14, 64, 3, 1, 1},
                                                         {128, 256, 8, 256, 3, 1, 1},
                                                         {128, 64, 8, 64, 3, 1, 1},
                                                         {128, 32, 8, 32, 3, 1, 1},
                                                         {128, 512, 7, 512, 3, 1, 1},
                                                         {128, 512, 4, 512, 3, 1, 1},
                                                         {128, 64, 4, 64, 3, 1, 1},
                                                         {128, 512, 2, 512, 3, 1, 1},
                                                         {128, 64, 8, 64, 1, 1, 0},
                                                         {128, 512, 4, 512, 1, 1, 0},
                                                         {128, 256, 8, 512, 3, 2, 1}}) {
    compare_positions(shape);
  }
  return 0;
}

int benchmark_sparse_products(const CommandLine& arguments) {
  configure_threads(arguments.empty() ? 2 : std::stoi(arguments[0]));
  fmt::print("| N, Ci, map, Co, kernel/stride | product | exact ms | ms (ratio) at a density of");
  for (const double density : kDensities) fmt::print(" {} |", density);
  fmt::print("\n|---|---|---|---|---|---|---|---|---|---|---|---|---|\n");
  const std::vector<LayerShape> shapes = {
      {128, 64, 32, 64, 3, 1, 1},   {128, 128, 16, 128, 3, 1, 1}, {128, 256, 8, 256, 3, 1, 1},
      {128, 512, 4, 512, 3, 1, 1},  {128, 512, 2, 512, 3, 1, 1},  {128, 16, 32, 16, 3, 1, 1},
      {128, 32, 16, 32, 3, 1, 1},   {128, 64, 8, 64, 3, 1, 1},    {128, 16, 32, 32, 3, 2, 1},
      {128, 32, 16, 64, 3, 2, 1},   {128, 64, 32, 128, 3, 2, 1},  {128, 128, 16, 256, 3, 2, 1},
      {128, 256, 8, 512, 3, 2, 1},  {128, 128, 16, 256, 1, 2, 0}, {64, 64, 27, 192, 5, 1, 2},
      {64, 192, 13, 384, 3, 1, 1},  {32, 64, 56, 256, 1, 1, 0},   {32, 256, 56, 64, 1, 1, 0},
      {32, 1024, 14, 256, 1, 1, 0}, {32, 512, 7, 2048, 1, 1, 0},  {8, 64, 56, 64, 3, 1, 1},
      {8, 512, 7, 512, 3, 1, 1},    {16, 160, 32, 160, 3, 1, 1},  {16, 640, 8, 640, 3, 1, 1}};
  compare_layers(arguments, std::array{Product::kDataGradient, Product::kWeightGradient}, shapes,
                 compare_sparse);
  return 0;
}

}  // namespace approx
