// regression: what sampling does to the gradient of a linear model (Adelman et al. 2021, section
// 3), and which estimate of a product of zero mean is best (section 6, Theorem 2). In numbers,
// beside the closed forms.
//
// The model y' = w.x with loss (y' - y)^2, one example, one w. The gradient of each weight is drawn
// `runs` times and averaged:
//   crs, mode=both        2 x_j ((1 - 1/k) w.x + w_j x_j / (k p_j) - y): biased (Eq. 11)
//   crs, black_box        the exact gradient (Eqs. 12 and 13)
//   bernoulli_crs, both   the exact gradient and that of the regulariser sum (1-p)/p x^2 w^2
//                         (Eq. 17): 2 x_j^2 w_j (1 - p_j) / p_j
// Theorem 2: rows whose method names an estimator; `measured` is the mean squared error of A^T B,
// relative to |A|^2 |B|^2, with A ~ N(0,1) and B ~ N(1,1).
#include <ATen/ATen.h>

#include <cmath>
#include <numeric>

#include "core/studies/study.h"
#include "kernels/draws.h"
#include "kernels/kernel.h"

namespace approx {
namespace {

std::vector<double> normal_draws(int64_t count, uint64_t seed, uint32_t layer, double mean) {
  const Rng rng{.seed = seed, .layer = layer, .stream = kInitStream};
  const auto u = uniform_draws(rng, {2, count}, at::kCPU).to(at::kDouble);
  const auto z = (u[0].log() * -2).sqrt() * (u[1] * (2 * M_PI)).cos() + mean;
  return {z.const_data_ptr<double>(), z.const_data_ptr<double>() + count};
}

void gradients(StudyTable& table, int64_t n, int64_t k, int64_t runs, uint64_t seed) {
  const auto x = normal_draws(n, seed, 1, 1), w = normal_draws(n, seed, 2, 0);
  const double y = 1;
  double dot = 0, total = 0;
  for (size_t j = 0; j < x.size(); ++j) {
    dot += w[j] * x[j];
    total += std::abs(w[j] * x[j]);
  }
  Operands o;
  o.x = at::tensor(x).to(at::kFloat).view({1, n, 1, 1});
  o.w = at::tensor(w).to(at::kFloat).view({1, n, 1, 1});
  o.input_sizes = o.x.sizes().vec();

  for (const auto& [name, mode] :
       {std::pair{"crs", "both"}, {"crs", "black_box"}, {"bernoulli_crs", "both"}}) {
    const auto text =
        fmt::format("{}:ratio={},mode={}", name,
                    shortest((static_cast<double>(k) + 0.5) / static_cast<double>(n)), mode);
    const auto method = make_method(text);
    const bool both = std::string_view(mode) == "both";
    std::vector<std::vector<double>> drawn(x.size());
    for (int64_t i = 0; i < runs; ++i) {
      const Rng rng{.seed = seed, .layer = 3, .step = static_cast<uint64_t>(i)};
      o.product = Product::kForward;
      o.dy = at::Tensor();
      const Plan forward = method->plan(o, {.rng = rng});
      const double residual = run(forward, o).item<double>() - y;
      o.product = Product::kWeightGradient;
      o.dy = at::full({1, 1, 1, 1}, 2 * residual);
      const auto gradient = run(both ? forward : Plan(Dense{}), o).flatten();
      for (size_t j = 0; j < x.size(); ++j) {
        drawn[j].push_back(gradient[static_cast<int64_t>(j)].item<double>());
      }
    }
    for (size_t j = 0; j < x.size(); ++j) {
      const double exact = 2 * x[j] * (dot - y), s = std::abs(w[j] * x[j]);
      const double count = static_cast<double>(k);
      double predicted = exact;
      if (both && std::string_view(name) == "crs") {
        predicted = 2 * x[j] * ((1 - 1 / count) * dot + w[j] * x[j] / (count * (s / total)) - y);
      } else if (both) {
        const double p = std::min(1.0, count * s / total);
        predicted += 2 * x[j] * x[j] * w[j] * (1 - p) / p;
      }
      const auto mean = mean_of(drawn[j]);
      table.add(
          {"gradient", text, static_cast<int64_t>(j), exact, predicted, mean.value, mean.half});
    }
  }
}

// Squared error of estimates of A^T B from k of n pairs.
void theorem2(StudyTable& table, int64_t n, int64_t k, int64_t runs, uint64_t seed) {
  const char* const names[] = {"the k largest", "the k largest, times n/k",
                               "k at random",   "k at random, times n/k",
                               "crs",           "bernoulli_crs"};
  std::vector<std::vector<double>> errors(std::size(names));
  const auto ratio = shortest((static_cast<double>(k) + 0.5) / static_cast<double>(n));
  const auto crs = make_method("crs:mode=black_box,ratio=" + ratio),
             bernoulli = make_method("bernoulli_crs:mode=black_box,ratio=" + ratio);
  const double whole = static_cast<double>(n) / static_cast<double>(k);
  for (int64_t i = 0; i < runs; ++i) {
    const auto run_seed = seed + static_cast<uint64_t>(i) + 1;
    const auto a = at::tensor(normal_draws(n * n, run_seed, 1, 0)).to(at::kFloat).view({n, n}),
               b = at::tensor(normal_draws(n * n, run_seed, 2, 1)).to(at::kFloat).view({n, n});
    const auto exact = a.t().matmul(b);
    const double scale = (a.square().sum() * b.square().sum()).item<double>();
    const auto order = (a.norm(2, 1) * b.norm(2, 1)).argsort(0, /*descending=*/true);
    const auto part = [&](const at::Tensor& rows) {
      return a.index_select(0, rows).t().matmul(b.index_select(0, rows));
    };
    const auto top = part(order.narrow(0, 0, k));
    const auto any = part(at::arange(k));  // rows are exchangeable: the first are at random
    Operands o;
    o.x = a.t().contiguous().view({n, n, 1, 1});
    o.w = b.t().contiguous().view({n, n, 1, 1});
    o.product = Product::kForward;
    o.input_sizes = o.x.sizes().vec();
    const Rng rng{.seed = run_seed, .layer = 3, .product = Product::kForward};
    const auto sampled = [&](Method& method) {
      return run(method.plan(o, {.rng = rng}), o).view({n, n});
    };
    const at::Tensor estimates[] = {top,         top * whole,   any,
                                    any * whole, sampled(*crs), sampled(*bernoulli)};
    for (size_t e = 0; e < errors.size(); ++e) {
      errors[e].push_back((estimates[e] - exact).square().sum().item<double>() / scale);
    }
  }
  for (size_t e = 0; e < errors.size(); ++e) {
    const auto mean = mean_of(errors[e]);
    table.add({"theorem 2", names[e], k, nullptr, nullptr, mean.value, mean.half});
  }
}

StudyTable study_regression(const StudyRequest& request) {
  const int64_t n = request.params.integer("features"), k = request.params.integer("k");
  if (k >= n) throw usage_error("regression: k = {} must be below features = {}", k, n);
  const auto seed = static_cast<uint64_t>(request.params.integer("seed"));
  StudyTable table({"part", "method", "index", "exact", "predicted", "measured", "half"});
  gradients(table, n, k, request.params.integer("runs"), seed);
  theorem2(table, /*n=*/60, /*k=*/20, request.params.integer("products"), seed);
  return table;
}

REGISTER_STUDY("regression", study_regression)
    .about("bias of sampled gradients of a linear model, and the best estimate of a product")
    .from_paper("adelman2021", "sections 3, 4 and 6")
    .param({"features", int64_t{10}, "features of the linear model", 2, 1000})
    .param({"k", int64_t{4}, "pairs that are taken", 1, 999})
    .param({"runs", int64_t{20000}, "draws of the gradient", 2, 1e7})
    .param({"products", int64_t{200}, "pairs of 60x60 matrices for Theorem 2", 2, 1e6})
    .param({"seed", int64_t{0}, "seed of the data and of the draws", 0});

}  // namespace
}  // namespace approx
