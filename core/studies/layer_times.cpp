// layer-times: how long each of the three exact products of each layer takes (McDanel et al. 2022,
// Figure 9), on the operands of a training that has run for some steps, and how long those of its
// gradients that a method approximates take by it, choosing included. Rounds go over all products
// in turn, so that a drift of the machine reaches all of them; medians with the 95 % interval of
// order statistics, and the share of all exact products together.
//
// What papers estimate has a column of its own: the exact product's time times the share of its
// multiply-accumulates that the method keeps. With --variants the pruned products are timed by each
// way that there is to compute them here (kernels/kernel.h), too: a line for each, with the time of
// the multiplication alone beside the whole one where the two are apart. That is what a sparse
// product would have to be for its estimate to hold, and what choosing and compressing add to it.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <functional>
#include <memory>
#include <optional>
#include <set>

#include "base/error.h"
#include "base/known_names.h"
#include "base/text.h"
#include "core/config/dense.h"
#include "core/nn/layers.h"
#include "core/studies/recorded.h"
#include "core/train/device.h"
#include "core/train/precision.h"
#include "kernels/kernel.h"

namespace approx {
namespace {

constexpr std::string_view kAll = "all";

struct Timed {
  const LayerInfo* layer = nullptr;
  int64_t index = 0;  // of the layer, from 1
  std::string method{kDense};
  Operands operands;
  std::function<Plan()> plan;
  double kept = 1;           // of the exact product's multiply-accumulates
  std::string variant = {};  // "": the one that is chosen
  // Whole; and of a variant whose multiplication is apart from what comes before it, that alone.
  std::vector<double> ms = {}, multiply_ms = {};

  bool exact() const { return is_dense(method); }
  double median() const { return ms[ms.size() / 2]; }  // once sorted
  Json multiply_median() const {
    return multiply_ms.empty() ? Json() : Json(multiply_ms[multiply_ms.size() / 2]);
  }
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

// The variants asked for that compute this here: all but the definition. `known` gets them all.
std::vector<std::string> asked_variants(const std::string& asked, const Timed& timed,
                                        std::set<std::string>& known) {
  std::vector<std::string> found;
  for (const auto& variant : variants(timed.plan(), timed.operands)) {
    if (variant != kReference) known.insert(variant);
    const auto names = split(asked, "+");
    const bool is_asked =
        asked == kAll || std::find(names.begin(), names.end(), variant) != names.end();
    if (is_asked && variant != kReference) found.push_back(variant);
  }
  return found;
}

void check_variants(const std::string& asked, const std::set<std::string>& known) {
  if (asked.empty() || asked == kAll) return;
  for (const auto& name : split(asked, "+")) {
    if (known.contains(std::string(name))) continue;
    throw usage_error("study layer-times: --variants: nothing here is computed by \"{}\"{}",
                      name.substr(0, 80), known_names(name, {known.begin(), known.end()}));
  }
}

// All products of a layer, each exact and then by the methods that approximate it.
void add_layer(const StudyRequest& request, const std::vector<const MethodEntry*>& entries,
               const LayerInfo& info, const Operands& operands, int64_t index,
               std::vector<Timed>& all, std::set<std::string>& known_variants) {
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
                .plan = [method, of_product,
                         call = MethodCall{.rng = rng, .norm_follows = info.norm_follows}] {
                  return method->plan(of_product, call);
                }});
      timed.kept = static_cast<double>(plan_macs(timed.plan(), of_product)) /
                   static_cast<double>(dense_macs(of_product));
      const auto& asked = request.params.text("variants");
      if (asked.empty()) continue;
      const Timed chosen = timed;  // the vector grows
      for (const auto& variant : asked_variants(asked, chosen, known_variants)) {
        auto& by_it = all.emplace_back(chosen);
        by_it.variant = variant;
      }
    }
  }
}

// Milliseconds of one call. A GPU is given several in a row, as by a training step, so that it
// works without a pause while they are launched.
double ms_of(const std::function<void()>& work, const c10::Device& device) {
  const int calls = device.is_cpu() ? 1 : 8;
  const auto before = std::chrono::steady_clock::now();
  for (int i = 0; i < calls; ++i) work();
  synchronize_device(device);
  const std::chrono::duration<double, std::milli> spent = std::chrono::steady_clock::now() - before;
  return spent.count() / calls;
}

void time_all(std::vector<Timed>& products, int64_t rounds) {
  for (int64_t round = -1; round < rounds; ++round) {  // the first warms up
    for (auto& timed : products) {
      const auto device = timed.operands.x.device();
      const double whole = ms_of([&] { run(timed.plan(), timed.operands, timed.variant); }, device);
      if (round >= 0) timed.ms.push_back(whole);
      if (timed.variant.empty()) continue;
      // Made anew each time: those of all layers at once may not fit a GPU.
      const auto multiply = prepared(timed.plan(), timed.operands, timed.variant);
      if (!multiply) continue;
      const double alone = ms_of([&] { multiply(); }, device);
      if (round >= 0) timed.multiply_ms.push_back(alone);
    }
  }
  for (auto& timed : products) {
    std::sort(timed.ms.begin(), timed.ms.end());
    std::sort(timed.multiply_ms.begin(), timed.multiply_ms.end());
  }
}

// The time at a rank of those that enclose the median with 95 %: n / 2 -+ 0.98 sqrt(n).
double ms_at(const Timed& timed, double rank) {
  const auto last = static_cast<double>(timed.ms.size() - 1);
  return timed.ms[static_cast<size_t>(std::clamp(rank, 0.0, last))];
}

Json variant_cell(const std::string& variant) { return variant.empty() ? Json() : Json(variant); }

// Sums over all layers: exact, by a method, or by a variant of one where it computes the layer and
// by the chosen one elsewhere. Estimate and time hold what the method leaves exact as well.
struct Sum {
  double ms = 0, estimated = 0, exact_ms = 0;
  std::optional<double> multiply_ms;  // nothing as soon as one layer's is not apart
  bool any = false;
};

Sum sum_over_layers(const std::vector<Timed>& products, Product product, const std::string& method,
                    const std::string& variant) {
  Sum sum{.multiply_ms = 0.0};
  const Timed* exact = nullptr;
  for (size_t i = 0; i < products.size(); ++i) {
    const Timed& timed = products[i];
    if (timed.operands.product != product) continue;
    if (timed.exact()) exact = &timed;
    if (timed.method != method || !timed.variant.empty()) continue;
    // Its variants are behind it.
    const Timed* taken = &timed;
    for (size_t j = i + 1; j < products.size() && !products[j].variant.empty(); ++j) {
      if (products[j].variant == variant) taken = &products[j];
    }
    sum.any = sum.any || taken->variant == variant;
    sum.ms += taken->median();
    sum.estimated += taken->kept * exact->median();
    sum.exact_ms += exact->median();
    if (taken->multiply_ms.empty()) {
      sum.multiply_ms = std::nullopt;
    } else if (sum.multiply_ms) {
      *sum.multiply_ms += taken->multiply_median().get<double>();
    }
  }
  return sum;
}

// The lines of the sums, at index 0.
void add_sums(const StudyRequest& request, const std::vector<Timed>& products, double total,
              StudyTable& table) {
  std::vector<std::string> methods = {std::string(kDense)}, ways = {""};
  methods.insert(methods.end(), request.methods.begin(), request.methods.end());
  for (const auto& timed : products) {
    if (std::find(ways.begin(), ways.end(), timed.variant) == ways.end()) {
      ways.push_back(timed.variant);
    }
  }
  const int64_t rounds = request.params.integer("rounds");
  for (const auto& method : methods) {
    for (const auto product : kAllProducts) {
      for (const auto& variant : ways) {
        const Sum sum = sum_over_layers(products, product, method, variant);
        if (!sum.any) continue;
        const bool is_exact = is_dense(method);
        table.add({int64_t{0}, "all layers", std::string(name(product)), sum.ms, nullptr, nullptr,
                   is_exact ? Json(sum.ms / total) : Json(), nullptr, rounds, method,
                   is_exact ? Json() : Json(sum.estimated), nullptr, variant_cell(variant),
                   sum.multiply_ms ? Json(*sum.multiply_ms) : Json(), sum.exact_ms});
      }
    }
  }
}

StudyTable study_layer_times(const StudyRequest& request) {
  StudyTable table({"layer_index", "layer", "product", "ms", "lo", "hi", "share", "macs", "rounds",
                    "method", "estimated_ms", "kind", "variant", "multiply_ms", "exact_ms"});
  const auto entries = methods_of_gradients(request.methods);
  auto layers = recorded_layers(request);
  const auto precision = request.params.choice<Precision>("precision");
  std::vector<Timed> products;
  std::set<std::string> known_variants;
  for (size_t i = 0; i < layers.size(); ++i) {
    add_layer(request, entries, layers[i].first, in_precision(layers[i].second, precision),
              static_cast<int64_t>(i) + 1, products, known_variants);
    layers[i].second = {};  // two copies of a large network's operands may not fit
  }
  check_variants(request.params.text("variants"), known_variants);
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
               timed.exact() ? Json() : Json(timed.kept * exact->median()), timed.layer->kind,
               variant_cell(timed.variant), timed.multiply_median(), exact->median()});
  }
  add_sums(request, products, total, table);
  return table;
}

REGISTER_STUDY("layer-times", study_layer_times)
    .about("time of the three products of each layer, exact and by methods")
    .from_paper("mcdanel2022", "Figure 9")
    .by_methods({"sdgp:n=2,m=4"})
    .param({"rounds", int64_t{15}, "measurements of each product", 3})
    .param({.name = "precision",
            .fallback = std::string(name(Precision::kFp32)),
            .help = "precision of the timed operands; the training before is fp32",
            .choices = {std::string(name(Precision::kFp32)), std::string(name(Precision::kBf16)),
                        std::string(name(Precision::kFp16))},
            .added_later = true})
    .param({.name = "variants",
            .fallback = std::string(),
            .help = "variants to time beside the chosen one: NAME+NAME..., or all",
            .added_later = true})
    .with(declare_training);

}  // namespace
}  // namespace approx
