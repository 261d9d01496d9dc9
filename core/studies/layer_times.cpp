// layer-times: how long each of the three exact products of each layer takes (McDanel et al. 2022,
// Figure 9), on the operands of a training that has run for some steps. Rounds go over all products
// in turn, so that a drift of the machine reaches all of them; medians with the 95 % interval of
// order statistics, and the share of all products together.
#include <algorithm>
#include <chrono>
#include <cmath>

#include "core/studies/recorded.h"
#include "core/train/device.h"
#include "kernels/kernel.h"

namespace approx {
namespace {

struct Timed {
  const LayerInfo* layer = nullptr;
  Operands operands;
  std::vector<double> ms;
};

StudyTable study_layer_times(const StudyRequest& request) {
  StudyTable table(
      {"layer_index", "layer", "product", "ms", "lo", "hi", "share", "macs", "rounds"});
  const int64_t rounds = request.params.integer("rounds");
  const auto layers = recorded_layers(request);
  std::vector<Timed> products;
  for (size_t i = 0; i < layers.size(); ++i) {
    const auto& [info, operands] = layers[i];
    for (const auto product : kAllProducts) {
      // The images need no gradient.
      if (product == Product::kDataGradient && i == 0) continue;
      auto& timed = products.emplace_back(Timed{&info, operands, {}});
      timed.operands.product = product;
    }
  }
  for (int64_t round = -1; round < rounds; ++round) {  // the first warms up
    for (auto& timed : products) {
      const auto before = std::chrono::steady_clock::now();
      run(Dense{}, timed.operands);
      synchronize_device(timed.operands.x.device());
      const std::chrono::duration<double, std::milli> spent =
          std::chrono::steady_clock::now() - before;
      if (round >= 0) timed.ms.push_back(spent.count());
    }
  }
  double total = 0;
  for (auto& timed : products) {
    std::sort(timed.ms.begin(), timed.ms.end());
    total += timed.ms[timed.ms.size() / 2];
  }
  int64_t index = 0;
  for (const auto& timed : products) {
    if (timed.operands.product == Product::kForward) ++index;
    // The ranks that enclose the median with 95 %: n / 2 -+ 0.98 sqrt(n).
    const auto n = static_cast<double>(timed.ms.size());
    const auto rank = [&](double at) {
      return timed.ms[static_cast<size_t>(std::clamp(at, 0.0, n - 1))];
    };
    const double median = timed.ms[timed.ms.size() / 2];
    table.add({index, timed.layer->name, std::string(name(timed.operands.product)), median,
               rank(std::floor(n / 2 - 0.98 * std::sqrt(n))),
               rank(std::ceil(n / 2 + 0.98 * std::sqrt(n))), median / total,
               timed.layer->macs * timed.operands.x.size(0), rounds});
  }
  for (const auto product : kAllProducts) {
    double sum = 0;
    for (const auto& timed : products) {
      if (timed.operands.product == product) sum += timed.ms[timed.ms.size() / 2];
    }
    table.add({int64_t{0}, "all layers", std::string(name(product)), sum, nullptr, nullptr,
               sum / total, nullptr, rounds});
  }
  return table;
}

REGISTER_STUDY("layer-times", study_layer_times)
    .about("time of the three exact products of each layer of a network")
    .from_paper("mcdanel2022", "Figure 9")
    .param({"rounds", int64_t{15}, "measurements of each product", 3})
    .with(declare_training);

}  // namespace
}  // namespace approx
