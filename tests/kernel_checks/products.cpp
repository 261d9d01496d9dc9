// The variants of plans that multiply.
#include <fmt/format.h>

#include <algorithm>
#include <memory>

#include "base/registry.h"
#include "kernels/dense/dense.h"
#include "kernels/gaussian/gaussian.h"
#include "kernels/pruned_dy/pruned_dy.h"
#include "kernels/sampled/sampled.h"
#include "kernels/skip/skip.h"
#include "kernels/sparse_dy/sparse_dy.h"
#include "kernels/structured_dy/structured_dy.h"
#include "tests/kernel_checks/checks.h"

// What the names stand for where there is LibTorch. Loops that are called by hand never ask for it.
namespace at {
class Tensor {};
}  // namespace at

namespace approx {

struct Operands {};
struct Dense {};
struct PrunedDY {};
struct SparseDY {};
struct StructuredDY {};
struct Sampled {};
struct Skip {};
struct Gaussian {};

#define APPROX_NO_TENSORS(PLAN, REAL)                                                            \
  at::Tensor Arguments<PLAN, REAL>::run(const Work<PLAN, REAL>&, const PLAN&, const Operands&) { \
    return {};                                                                                   \
  }
#define APPROX_NO_TENSORS_OF(PLAN)                                                               \
  template <typename Real>                                                                       \
  at::Tensor Arguments<PLAN, Real>::run(const Work<PLAN, Real>&, const PLAN&, const Operands&) { \
    return {};                                                                                   \
  }                                                                                              \
  template struct Arguments<PLAN, float>;                                                        \
  template struct Arguments<PLAN, double>

APPROX_NO_TENSORS_OF(Dense);
APPROX_NO_TENSORS_OF(PrunedDY);
APPROX_NO_TENSORS_OF(SparseDY);
APPROX_NO_TENSORS_OF(StructuredDY);
APPROX_NO_TENSORS_OF(Sampled);
APPROX_NO_TENSORS_OF(Skip);
APPROX_NO_TENSORS(Gaussian, float)

namespace {

// Sizes around those of vectors, maps of one pixel, directions that differ.
Problem drawn_problem(Draws& draw) {
  static const std::vector<int64_t> kChannels = {1, 5, 8, 16, 17, 31, 32, 48, 64, 70};
  const auto channels = [&] { return kChannels[static_cast<size_t>(draw.below(10))]; };
  Problem p;
  p.product = kAllProducts[static_cast<size_t>(draw.below(3))];
  p.kh = 1 + draw.below(5);
  p.kw = draw.below(3) == 0 ? p.kh : 1 + 2 * draw.below(4);
  p.geometry.stride = {1 + draw.below(2), 1 + draw.below(2)};
  p.geometry.padding = {draw.below(p.kh), draw.below(p.kw)};
  if (draw.below(4) == 0) p.geometry.dilation = {1 + draw.below(2), 1 + draw.below(2)};
  p.h = p.geometry.dilation.h * (p.kh - 1) + 1 + draw.below(8);
  p.w = p.geometry.dilation.w * (p.kw - 1) + 1 + draw.below(17);
  p.n = 1 + draw.below(5);
  p.ci = channels();
  p.co = channels();
  const auto out = output_size({p.h, p.w}, {p.kh, p.kw}, p.geometry);
  p.ho = out.h;
  p.wo = out.w;
  p.group = draw.below(2) == 0 ? 4 : 1 + draw.below(8);
  return p;
}

std::string described(const Problem& p) {
  return fmt::format(
      "{} n {} ci {} {}x{} co {} kernel {}x{} stride {}x{} padding {}x{} dilation "
      "{}x{}",
      name(p.product), p.n, p.ci, p.h, p.w, p.co, p.kh, p.kw, p.geometry.stride.h,
      p.geometry.stride.w, p.geometry.padding.h, p.geometry.padding.w, p.geometry.dilation.h,
      p.geometry.dilation.w);
}

// Operands of one problem, in both precisions.
struct ProductOperands {
  ProductOperands(const Problem& problem, Draws& draw, double density)
      : p(problem),
        x(draw.numbers(p.n * p.h * p.w * p.ci)),
        w(draw.numbers(p.co * p.kh * p.kw * p.ci)),
        dy(draw.numbers(p.n * p.ho * p.wo * p.co, density)) {
    choice.m = p.group;
    choice.n = 1 + draw.below(p.group);
    choice.random = draw.below(2) == 0;
    // What is chosen at random may be so little that its rescaling is no number.
    if (!choice.random) choice.rescaling = static_cast<Rescaling>(draw.below(3));
    for (const auto* from : {&x, &w, &dy}) doubles.emplace_back(from->begin(), from->end());
    // Rows of what is not zero, as a plan of compressed rows holds them.
    row_start.push_back(0);
    for (int64_t n = 0; n < p.n; ++n) {
      for (int64_t c = 0; c < p.co; ++c) {
        for (int64_t pixel = 0; pixel < p.ho * p.wo; ++pixel) {
          const float entry = dy[static_cast<size_t>((n * p.ho * p.wo + pixel) * p.co + c)];
          if (entry == 0) continue;
          position.push_back(static_cast<int32_t>(pixel));
          value.push_back(entry);
        }
        row_start.push_back(static_cast<int64_t>(value.size()));
      }
    }
  }

  int64_t result_size() const { return p.slices() * p.slice_size(); }

  template <typename Plan>
  Arguments<Plan, float> floats(float* out) const {
    return filled<Plan, float>(x.data(), w.data(), dy.data(), out);
  }
  template <typename Plan>
  Arguments<Plan, double> in_double(double* out) const {
    return filled<Plan, double>(doubles[0].data(), doubles[1].data(), doubles[2].data(), out);
  }

  Problem p;
  NmChoice choice;
  std::vector<float> x, w, dy;
  std::vector<std::vector<double>> doubles;
  std::vector<int64_t> row_start;
  std::vector<int32_t> position;
  std::vector<float> value;

 private:
  template <typename Plan, typename Real>
  Arguments<Plan, Real> filled(const Real* of_x, const Real* of_w, const Real* of_dy,
                               Real* out) const {
    Arguments<Plan, Real> args{};
    args.problem = p;
    args.x = of_x;
    args.w = of_w;
    args.dy = of_dy;
    args.out = out;
    if constexpr (std::is_same_v<Plan, SparseDY>) {
      args.dy = nullptr;
      args.row_start = row_start.data();
      args.position = position.data();
      args.value = value.data();
    }
    if constexpr (std::is_same_v<Plan, StructuredDY>) args.choice = choice;
    return args;
  }
};

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
