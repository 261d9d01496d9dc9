// Problems and their operands, drawn, where there is no LibTorch.
#pragma once

#include <string>
#include <type_traits>
#include <vector>

#include "kernels/select/nm_choice.h"
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
struct Pooled {};
struct Quantized {};
struct Skip {};
struct Gaussian {};

// Sizes around those of vectors, maps of one pixel, directions that differ.
Problem drawn_problem(Draws& draw);
std::string described(const Problem& problem);

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

}  // namespace approx
