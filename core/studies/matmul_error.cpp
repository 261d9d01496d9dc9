// matmul-error: how far a sampled product of two random matrices lies from the exact one, by the
// share of column-row pairs that is taken (Adelman et al. 2021, section 6, Eq. 18 and Figure 1):
// normal entries of standard deviation 1, both matrices of mean 1, or one of them of mean 0.
//
// Beside the mean of the error stands its root mean square, which has closed forms for the sampling
// methods: E|err|^2 = (sum s^2 / p - |AB|^2) / k for crs, with the paper's probabilities
// ((sum s)^2 - |AB|^2) / k (Eq. 5, whose sum goes over all n pairs), and sum (1 - p) / p s^2 for
// bernoulli_crs of the size drawn. The methods compute them from the p and k that they draw by.
#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "core/methods/sampling.h"
#include "core/studies/study.h"
#include "kernels/draws.h"
#include "kernels/kernel.h"

namespace approx {
namespace {

// Normal draws [n,n]: the sum-free way of Box and Muller from two uniform tensors.
at::Tensor normal_matrix(const Rng& rng, int64_t n, double mean) {
  Rng other = rng;
  other.stream += 1;
  const auto radius = (uniform_draws(rng, {n, n}, at::kCPU).log() * -2).sqrt();
  const auto angle = uniform_draws(other, {n, n}, at::kCPU) * (2 * M_PI);
  return radius * angle.cos() + mean;
}

// a [m,n] times b [n,p] as the forward product of a linear layer.
Operands product_of(const at::Tensor& a, const at::Tensor& b) {
  Operands o;
  o.x = a.view({a.size(0), a.size(1), 1, 1});
  o.w = b.t().contiguous().view({b.size(1), b.size(0), 1, 1});
  o.product = Product::kForward;
  o.input_sizes = o.x.sizes().vec();
  return o;
}

// How many pairs a method takes or draws of n; null where their scores decide, or nobody says it.
Json pairs_of(const Method& method, const Operands& o) {
  const auto* sampling = dynamic_cast<const SamplingMethod*>(&method);
  const auto k = sampling == nullptr ? std::nullopt : sampling->sample_size(o);
  return k ? Json(*k) : Json();
}

// E|err|^2 of one pair of matrices, NaN where there is no closed form.
double expected_square(const Method& method, const Operands& o, const at::Tensor& exact) {
  const auto* sampling = dynamic_cast<const SamplingMethod*>(&method);
  if (sampling == nullptr) return NAN;
  return sampling->expected_square(o, exact.square().sum().item<double>());
}

// That a method samples products that nobody else sees.
void check_samples(const std::string& method) {
  const auto& entry = Registry<MethodEntry>::instance().find(parse_spec(method).name);
  if (std::ranges::any_of(entry.params, [](const auto& spec) { return spec.name == "mode"; })) {
    return;
  }
  throw usage_error(
      "study matmul-error: \"{}\" samples no product; give crs, bernoulli_crs or such", method);
}

StudyTable study_matmul_error(const StudyRequest& request) {
  const int64_t n = request.params.integer("size"), runs = request.params.integer("runs");
  const auto seed = static_cast<uint64_t>(request.params.integer("seed"));
  StudyTable table({"matrices", "method", "ratio", "k", "runs", "error", "error_half", "rms",
                    "rms_closed_form", "gap", "gap_half"});
  for (const auto& [label, mean] : {std::pair{"mean 1 x mean 1", 1.0}, {"mean 0 x mean 1", 0.0}}) {
    struct Case {
      std::string text;
      double ratio;
      std::unique_ptr<Method> method;
      std::vector<double> errors, gaps;  // gaps: squared error less its expectation
      double squares = 0, expected = 0;
      Json k = nullptr;
    };
    std::vector<Case> cases;
    for (const auto& method : request.methods) {
      check_samples(method);
      for (int64_t tenth = 1; tenth <= 9; ++tenth) {
        const double ratio = 0.1 * static_cast<double>(tenth);
        const auto text = with_params(method, {{"mode", "black_box"}, {"ratio", shortest(ratio)}});
        cases.push_back(
            {.text = method, .ratio = ratio, .method = make_method(text), .errors = {}});
      }
    }
    for (int64_t i = 0; i < runs; ++i) {
      const auto step = static_cast<uint64_t>(i);
      const auto a =
          normal_matrix({.seed = seed, .layer = 1, .step = step, .stream = kInitStream}, n, mean);
      const auto b =
          normal_matrix({.seed = seed, .layer = 2, .step = step, .stream = kInitStream}, n, 1);
      const auto o = product_of(a, b);
      const auto exact = a.matmul(b);
      const double scale = (a.norm() * b.norm()).item<double>();
      for (auto& c : cases) {
        const Rng rng{.seed = seed, .layer = 3, .step = step, .product = Product::kForward};
        const auto result = run(c.method->plan(o, {.rng = rng}), o).view({n, n});
        const double error = (result - exact).norm().item<double>() / scale;
        c.errors.push_back(error);
        c.squares += error * error;
        const double expected = expected_square(*c.method, o, exact) / (scale * scale);
        c.expected += expected;
        c.gaps.push_back(error * error - expected);
        c.k = pairs_of(*c.method, o);
      }
    }
    for (const auto& c : cases) {
      const auto error = mean_of(c.errors);
      const auto count = static_cast<double>(runs);
      // The squared error of one pair of matrices has a known expectation: how far the mean is off,
      // relative to it, and how far chance takes it. Nothing where all pairs are taken.
      const auto gap = mean_of(c.gaps);
      const double expected = c.expected / count, unit = expected > 0 ? expected : NAN;
      table.add({label, c.text, c.ratio, c.k, runs, error.value, error.half,
                 std::sqrt(c.squares / count), std::sqrt(expected), gap.value / unit,
                 gap.half / unit});
    }
  }
  return table;
}

REGISTER_STUDY("matmul-error", study_matmul_error)
    .about("error of sampled products of random matrices, by the share of pairs that is taken")
    .from_paper("adelman2021", "Figure 1")
    .by_methods({"topk_crs", "crs", "bernoulli_crs"})
    .param({"size", int64_t{100}, "rows and columns of the matrices", 2, 4096})
    .param({"runs", int64_t{1000}, "pairs of matrices", 1, 1e6})
    .param({"seed", int64_t{0}, "seed of the matrices and of the draws", 0});

}  // namespace
}  // namespace approx
