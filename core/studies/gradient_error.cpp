// gradient-error: how far each method's products lie from the exact ones, layer by layer, on the
// operands of a training that has run for some steps. Of `draws` independent draws:
//   cosine          mean cosine similarity of one draw and the exact product
//   relative_error  mean |draw - exact| / |exact|
//   bias            |mean draw - exact| / |exact|; of an unbiased method about bias_noise
//   bias_noise      what the bias of as many unbiased draws would be: sqrt(variance / draws)
//   variance        mean |draw - mean draw|^2 / |exact|^2
//   work            mean share of the exact product's multiply-accumulates that a draw needs
// A method without randomness is drawn once.
#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>
#include <optional>

#include "core/studies/recorded.h"
#include "kernels/kernel.h"

namespace approx {
namespace {

StudyTable study_gradient_error(const StudyRequest& request) {
  StudyTable table({"layer", "kind", "method", "product", "draws", "cosine", "relative_error",
                    "bias", "bias_noise", "variance", "work"});
  const int64_t most = request.params.integer("draws");
  const auto seed = static_cast<uint64_t>(request.params.integer("seed"));
  const auto layers = recorded_layers(request);
  for (uint32_t l = 0; l < layers.size(); ++l) {
    const auto& [info, operands] = layers[l];
    for (const auto& text : request.methods) {
      const Spec spec = parse_spec(text);
      const auto& entry = Registry<MethodEntry>::instance().find(spec.name);
      const auto& products = entry.products_with(Params(entry.params, spec));
      const bool samples_forward =
          std::find(products.begin(), products.end(), Product::kForward) != products.end();
      for (const auto product : products) {
        Operands o = operands;
        o.product = product;
        const auto exact = run(Dense{}, o).to(at::kDouble);
        const double size = exact.norm().item<double>();
        std::vector<at::Tensor> draws;
        double work = 0;  // of all draws that were tried
        int64_t tried = 0;
        for (int64_t i = 0; i < most; ++i) {
          const auto method = make_method(text);  // one without memory of the other draws
          Rng rng{.seed = seed,
                  .layer = l,
                  .step = static_cast<uint64_t>(i),
                  .product = Product::kForward};
          std::optional<Plan> forward;
          if (product != Product::kForward && samples_forward) {
            Operands before = o;
            before.product = Product::kForward;
            forward = method->plan(before, {.rng = rng});
          }
          rng.product = product;
          const MethodCall call{.rng = rng,
                                .norm_follows = info.norm_follows,
                                .forward = forward ? &*forward : nullptr};
          const Plan plan = method->plan(o, call);
          const auto result = method->finish(o, run(plan, o), call).result;
          if (!result.defined()) break;  // frozen: there is no gradient
          draws.push_back(result.to(at::kDouble));
          work += static_cast<double>(plan_macs(plan, o)) / static_cast<double>(dense_macs(o));
          ++tried;
          if (i == 1 && at::equal(draws[0], draws[1])) {
            draws.pop_back();
            break;
          }
        }
        if (draws.empty()) continue;
        const auto count = static_cast<double>(draws.size());
        auto mean = at::zeros_like(exact);
        double cosine = 0, error = 0, variance = 0;
        for (const auto& draw : draws) {
          mean += draw / count;
          const double length = draw.norm().item<double>();
          cosine += (draw * exact).sum().item<double>() / (length * size) / count;
          error += (draw - exact).norm().item<double>() / size / count;
        }
        for (const auto& draw : draws) {
          variance += (draw - mean).square().sum().item<double>() / (size * size) /
                      std::max(1.0, count - 1);
        }
        table.add({info.name, info.kind, text, std::string(name(product)),
                   static_cast<int64_t>(draws.size()), cosine, error,
                   (mean - exact).norm().item<double>() / size, std::sqrt(variance / count),
                   variance, work / static_cast<double>(tried)});
      }
    }
  }
  return table;
}

REGISTER_STUDY("gradient-error", study_gradient_error)
    .about("distance of each method's products from the exact ones, by layer")
    .by_methods({"topk_position", "zero", "stochastic_pruning", "sdgp", "meprop",
                 "crs:mode=backward", "bernoulli_crs:mode=backward", "topk_crs:mode=backward",
                 "topk_crs"})
    .param({"draws", int64_t{20}, "draws of each random product", 2, 100000})
    .with(declare_training);

}  // namespace
}  // namespace approx
