// The three products of half of the input channels, by each way to leave the others out, in turns
// with the exact ones. Where the rules of kernels/sampled come from. Usage:
// layer_benchmarks sampled_products [THREADS [PRODUCT]]
#include <fmt/format.h>

#include <array>
#include <map>

#include "core/methods/method.h"
#include "core/train/device.h"
#include "tests/benchmarks/layers.h"

namespace approx {
namespace {

void compare_sampled(const LayerShape& s, Product product) {
  constexpr int kWarmUps = 2, kRounds = 11;
  const auto o = layer_operands(s, product, at::MemoryFormat::ChannelsLast);
  auto before = o;
  before.product = Product::kForward;
  const auto method = make_method("topk_crs:ratio=0.5");
  const MethodCall call{.norm_follows = true};
  const Plan plan = method->plan(before, call);
  auto sampled = o;
  sampled.x = sampled_input(o.x, plan, o.geometry);

  // Choosing and taking the channels of x belong to the forward product.
  std::map<std::string, std::vector<double>> times;
  const auto timed = [&](const std::string& name, bool keep, const auto& work) {
    const double time = milliseconds_of(work);
    if (keep) times[name].push_back(time);
  };
  for (int round = 0; round < kWarmUps + kRounds; ++round) {
    const bool keep = round >= kWarmUps;
    timed("exact", keep, [&] { run(Dense{}, o); });
    if (product == Product::kForward) timed("plan", keep, [&] { method->plan(before, call); });
    timed("gather", keep, [&] {
      if (product != Product::kForward) return void(run(plan, sampled, "gather"));
      auto part = o;
      part.x = sampled_input(o.x, plan, o.geometry);
      run(plan, part, "gather");
    });
    timed("mask", keep, [&] { run(plan, o, "mask"); });
  }
  const double exact = median(times["exact"]);
  const double planned = times["plan"].empty() ? 0 : median(times["plan"]);
  print_layer(s, product);
  fmt::print(" {:.2f} | {:.2f} |", exact, planned);
  for (const char* name : {"gather", "mask"}) {
    const double time = planned + median(times[name]);
    fmt::print(" {:.2f} ({:.2f}) |", time, exact / time);
  }
  fmt::print("\n");
}

}  // namespace

int benchmark_sampled_products(const CommandLine& arguments) {
  configure_threads(arguments.empty() ? 2 : std::stoi(arguments[0]));
  fmt::print(
      "| N, Ci, map, Co, kernel/stride | product | exact ms | choosing | gather ms (ratio) |"
      " mask ms (ratio) |\n|---|---|---|---|---|---|\n");
  const std::vector<LayerShape> shapes = {
      {128, 64, 32, 64, 3, 1, 1},    {128, 128, 16, 128, 3, 1, 1},  {128, 256, 8, 256, 3, 1, 1},
      {128, 512, 4, 512, 3, 1, 1},   {128, 512, 2, 512, 3, 1, 1},   {128, 16, 32, 16, 3, 1, 1},
      {128, 32, 16, 32, 3, 1, 1},    {128, 64, 8, 64, 3, 1, 1},     {128, 64, 32, 128, 3, 2, 1},
      {128, 128, 16, 256, 1, 2, 0},  {4, 160, 32, 160, 3, 1, 1},    {4, 640, 8, 640, 3, 1, 1},
      {50, 32, 14, 64, 5, 1, 2},     {50, 784, 1, 500, 1, 1, 0},    {50, 500, 1, 500, 1, 1, 0},
      {50, 3136, 1, 1024, 1, 1, 0},  {128, 1024, 1, 1024, 1, 1, 0}, {256, 1024, 1, 1024, 1, 1, 0},
      {1024, 1024, 1, 1024, 1, 1, 0}};
  compare_layers(arguments, kAllProducts, shapes, compare_sampled);
  return 0;
}

}  // namespace approx
