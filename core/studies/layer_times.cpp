// layer-times: how long each of the three exact products of each layer takes (McDanel et al. 2022,
// Figure 9), on the operands of a training that has run for some steps, and how long those of its
// gradients that a method approximates take by it, choosing included. Rounds go over all products
// in turn, so that a drift of the machine reaches all of them; medians with the 95 % interval of
// order statistics, and the share of all exact products together.
//
// What papers estimate has a column of its own: the exact product's time times the share of its
// multiply-accumulates that the method keeps.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <functional>
#include <memory>
#include <optional>

#include "base/error.h"
#include "core/config/dense.h"
#include "core/nn/layers.h"
#include "core/studies/recorded.h"
#include "core/train/device.h"
#include "kernels/kernel.h"

namespace approx {
namespace {

struct Timed {
  const LayerInfo* layer = nullptr;
  int64_t index = 0;  // of the layer, from 1
  std::string method{kDense};
  Operands operands;
  std::function<Plan()> plan;
  double kept = 1;  // of the exact product's multiply-accumulates
  std::vector<double> ms = {};

  bool exact() const { return is_dense(method); }
  double median() const { return ms[ms.size() / 2]; }  // once sorted
};

// The methods that are asked for. Those of the forward product would need its plan for their
// gradients, and no paper times them so.
std::vector<const MethodEntry*> methods_of_gradients(const std::vector<std::string>& texts) {
  std::vector<const MethodEntry*> entries;
  for (const auto& text : texts) {
    const auto& entry = Registry<MethodEntry>::instance().find(parse_spec(text).name);
    const auto& products = entry.products_with(Params(entry.params, parse_spec(text)));
    if (std::find(products.begin(), products.end(), Product::kForward) != products.end()) {
      throw usage_error(
          "study layer-times: {} approximates the forward product; name methods of "
          "gradients",
          text);
    }
    entries.push_back(&entry);
  }
  return entries;
}

// All products of a layer, each exact and then by the methods that approximate it.
void add_layer(const StudyRequest& request, const std::vector<const MethodEntry*>& entries,
               const LayerInfo& info, const Operands& operands, int64_t index,
               std::vector<Timed>& all) {
  for (const auto product : kAllProducts) {
    // The images need no gradient.
    if (product == Product::kDataGradient && info.reads_images) continue;
    Operands of_product = operands;
    of_product.product = product;
    all.push_back({.layer = &info, .index = index, .operands = of_product, .plan = [] {
                     return Plan(Dense{});
                   }});
    for (size_t i = 0; i < entries.size(); ++i) {
      const std::string& text = request.methods[i];
      const auto& products =
          entries[i]->products_with(Params(entries[i]->params, parse_spec(text)));
      if (std::find(products.begin(), products.end(), product) == products.end()) continue;
      const Rng rng{.seed = static_cast<uint64_t>(request.params.integer("seed")),
                    .layer = draws_number(info),
                    .step = static_cast<uint64_t>(request.params.integer("steps")),
                    .product = product};
      const std::shared_ptr<Method> method = make_method(text);
      auto& timed = all.emplace_back(
          Timed{.layer = &info,
                .index = index,
                .method = text,
                .operands = of_product,
                .plan = [method, of_product, call = MethodCall(rng, info.norm_follows)] {
                  return method->plan(of_product, call);
                }});
      timed.kept = static_cast<double>(plan_macs(timed.plan(), of_product)) /
                   static_cast<double>(dense_macs(of_product));
    }
  }
}

void time_all(std::vector<Timed>& products, int64_t rounds) {
  for (int64_t round = -1; round < rounds; ++round) {  // the first warms up
    for (auto& timed : products) {
      const auto before = std::chrono::steady_clock::now();
      run(timed.plan(), timed.operands);
      synchronize_device(timed.operands.x.device());
      const std::chrono::duration<double, std::milli> spent =
          std::chrono::steady_clock::now() - before;
      if (round >= 0) timed.ms.push_back(spent.count());
    }
  }
  for (auto& timed : products) std::sort(timed.ms.begin(), timed.ms.end());
}

// The time at a rank of those that enclose the median with 95 %: n / 2 -+ 0.98 sqrt(n).
double ms_at(const Timed& timed, double rank) {
  const auto last = static_cast<double>(timed.ms.size() - 1);
  return timed.ms[static_cast<size_t>(std::clamp(rank, 0.0, last))];
}

// The lines of all layers together, at index 0: exact, then by each method, whose estimate and time
// hold what it leaves exact as well.
void add_sums(const StudyRequest& request, const std::vector<Timed>& products, double total,
              StudyTable& table) {
  std::vector<std::string> methods = {std::string(kDense)};
  methods.insert(methods.end(), request.methods.begin(), request.methods.end());
  const int64_t rounds = request.params.integer("rounds");
  for (const auto& method : methods) {
    for (const auto product : kAllProducts) {
      double sum = 0, estimated = 0;
      bool any = false;
      const Timed* exact = nullptr;
      for (const auto& timed : products) {
        if (timed.operands.product != product) continue;
        if (timed.exact()) exact = &timed;
        if (timed.method != method) continue;
        any = true;
        sum += timed.median();
        estimated += timed.kept * exact->median();
      }
      if (!any) continue;
      const bool is_exact = is_dense(method);
      table.add({int64_t{0}, "all layers", std::string(name(product)), sum, nullptr, nullptr,
                 is_exact ? Json(sum / total) : Json(), nullptr, rounds, method,
                 is_exact ? Json() : Json(estimated), nullptr});
    }
  }
}

StudyTable study_layer_times(const StudyRequest& request) {
  StudyTable table({"layer_index", "layer", "product", "ms", "lo", "hi", "share", "macs", "rounds",
                    "method", "estimated_ms", "kind"});
  const auto entries = methods_of_gradients(request.methods);
  const auto layers = recorded_layers(request);
  std::vector<Timed> products;
  for (size_t i = 0; i < layers.size(); ++i) {
    add_layer(request, entries, layers[i].first, layers[i].second, static_cast<int64_t>(i) + 1,
              products);
  }
  const int64_t rounds = request.params.integer("rounds");
  time_all(products, rounds);
  double total = 0;
  for (const auto& timed : products) total += timed.exact() ? timed.median() : 0;
  const Timed* exact = nullptr;  // of the product, before its methods
  for (const auto& timed : products) {
    if (timed.exact()) exact = &timed;
    const auto n = static_cast<double>(timed.ms.size());
    table.add({timed.index, timed.layer->name, std::string(name(timed.operands.product)),
               timed.median(), ms_at(timed, std::floor(n / 2 - 0.98 * std::sqrt(n))),
               ms_at(timed, std::ceil(n / 2 + 0.98 * std::sqrt(n))),
               timed.exact() ? Json(timed.median() / total) : Json(),
               timed.layer->macs * timed.operands.x.size(0), rounds, timed.method,
               timed.exact() ? Json() : Json(timed.kept * exact->median()), timed.layer->kind});
  }
  add_sums(request, products, total, table);
  return table;
}

REGISTER_STUDY("layer-times", study_layer_times)
    .about("time of the three exact products of each layer of a network, and by methods")
    .from_paper("mcdanel2022", "Figure 9")
    .by_methods({"sdgp:n=2,m=4"})
    .param({"rounds", int64_t{15}, "measurements of each product", 3})
    .with(declare_training);

}  // namespace
}  // namespace approx
