// The variants of plans that multiply.
#include <fmt/format.h>

#include <algorithm>
#include <memory>

#include "base/registry.h"
#include "kernels/dense/dense.h"
#include "kernels/pruned_dy/pruned_dy.h"
#include "tests/kernel_checks/operands.h"

namespace approx {
namespace {

template <typename Plan>
void complete(const Work<Plan, float>& work, const Arguments<Plan, float>& args, const Team& team) {
  if (work.whole != nullptr) return work.whole(args, team);
  team.share(args.problem.slices(), [&](int64_t slice) { work.loop(args, slice, slice + 1); });
}

template <typename Plan>
bool is_loop_on_floats(const Variant<Plan>& variant) {
  return variant.floats.work.loop != nullptr || variant.floats.work.whole != nullptr;
}

template <typename Plan>
std::string variant_agrees(const Variant<Plan>& variant, uint64_t seed) {
  Draws draw(seed);
  Problem problem = drawn_problem(draw);
  for (int tries = 0; tries < 2000 && !variant.fits(problem); ++tries)
    problem = drawn_problem(draw);
  if (!variant.fits(problem)) return "no shape of two thousand that it takes";
  // Nothing kept, everything, and shares between.
  static constexpr double kDensities[] = {0, 0.02, 0.1, 0.3, 0.6, 1};
  const double density = problem.density = kDensities[draw.below(6)];
  const ProductOperands operands(problem, draw, density);

  std::vector<double> truth(static_cast<size_t>(operands.result_size()));
  const auto& definition = Registry<Variant<Plan>>::instance().find("reference");
  definition.doubles.work.loop(operands.template in_double<Plan>(truth.data()), 0,
                               problem.slices());
  Guarded forwards(operands.result_size()), backwards(operands.result_size());
  complete<Plan>(variant.floats.work, operands.template floats<Plan>(forwards.data()), OneByOne());
  complete<Plan>(variant.floats.work, operands.template floats<Plan>(backwards.data()),
                 OneByOne(/*backwards=*/true));
  std::string wrong = difference(forwards.data(), truth);
  if (!forwards.intact()) wrong = "it wrote outside its result";
  if (!std::equal(forwards.data(), forwards.data() + forwards.size(), backwards.data())) {
    wrong = "the order of its items shows in its result";
  }
  return wrong.empty() ? wrong
                       : fmt::format("{} ({}, density {})", wrong, described(problem), density);
}

template <typename Plan>
void add_agreements(const char* plan, std::vector<Agreement>& all) {
  for (const auto* variant : Registry<Variant<Plan>>::instance().all()) {
    if (!is_loop_on_floats(*variant)) continue;
    all.push_back({fmt::format("{} {}", plan, variant->name),
                   [variant](uint64_t seed) { return variant_agrees<Plan>(*variant, seed); }});
  }
}

// 64 channels of 16x16, 3x3: what most of a network is like.
Problem hot_problem(Product product) {
  Problem p;
  p.product = product;
  p.geometry.padding = 1;
  p.n = 2;
  p.ci = p.co = 64;
  p.h = p.w = p.ho = p.wo = 16;
  p.kh = p.kw = 3;
  p.group = 4;
  return p;
}

template <typename Plan>
HotKernel hot_product(const char* plan, const std::string& variant, Product product,
                      double density) {
  return {fmt::format("{} {}", plan, variant), [=]() -> std::function<void()> {
            Draws draw(1);
            auto problem = hot_problem(product);
            problem.density = density;
            const auto operands = std::make_shared<ProductOperands>(problem, draw, density);
            operands->choice = {.n = 2, .m = 4, .rescaling = Rescaling::kPlane};
            const auto out = std::make_shared<Guarded>(operands->result_size());
            const auto work = Registry<Variant<Plan>>::instance().find(variant).floats.work;
            return [=] {
              complete<Plan>(work, operands->template floats<Plan>(out->data()), OneByOne());
            };
          }};
}

}  // namespace

std::vector<Agreement> product_agreements() {
  std::vector<Agreement> all;
  add_agreements<Dense>("Dense", all);
  add_agreements<PrunedDY>("PrunedDY", all);
  add_agreements<SparseDY>("SparseDY", all);
  add_agreements<StructuredDY>("StructuredDY", all);
  return all;
}

std::vector<HotKernel> hot_kernels() {
  constexpr auto kData = Product::kDataGradient, kWeight = Product::kWeightGradient;
  return {hot_product<Dense>("Dense", "packed", kWeight, 1),
          hot_product<Dense>("Dense", "direct", kData, 1),
          hot_product<PrunedDY>("PrunedDY", "sparse_rows", kData, 0.3),
          hot_product<PrunedDY>("PrunedDY", "sparse_lists", kWeight, 0.3),
          hot_product<StructuredDY>("StructuredDY", "rows", kData, 1),
          hot_product<SparseDY>("SparseDY", "lists", kWeight, 0.06),
          hot_product<SparseDY>("SparseDY", "simd", kWeight, 0.004)};
}

}  // namespace approx
