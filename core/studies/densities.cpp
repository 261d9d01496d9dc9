// densities: what stochastic pruning leaves of gradients (Ye et al. 2020, section 3.2). For each
// layer and p, on the gradients of a training that has run for some steps: the share that is kept,
// beside the share that normal gradients of the same mean magnitude would keep,
//   1 - p + (2 / z) (phi(0) - phi(z)),  z = Phi^-1((1 + p) / 2),
// the share of zeros that a ReLU had put there already, and, as rows of the part "histogram", the
// distribution before and after pruning in units of tau (Figure 2): counts in 40 bins from -2 to 2.
#include <ATen/ATen.h>

#include <cmath>
#include <numbers>

#include "core/studies/recorded.h"
#include "kernels/select/select.h"

namespace approx {
namespace {

StudyTable study_densities(const StudyRequest& request) {
  StudyTable table({"part", "layer", "p", "tau", "nonzero_before", "kept", "kept_if_normal", "from",
                    "count_before", "count_after"});
  const auto seed = static_cast<uint64_t>(request.params.integer("seed"));
  const auto layers = recorded_layers(request);
  for (uint32_t l = 0; l < layers.size(); ++l) {
    const auto& [info, o] = layers[l];
    const auto g = o.dy.to(at::kFloat);
    const auto entries = static_cast<double>(g.numel());
    for (const double p : {0.5, 0.7, 0.8, 0.9, 0.95, 0.99}) {
      const double z =
          std::numbers::sqrt2 * at::erfinv(at::scalar_tensor(p, at::kDouble)).item<double>();
      const double tau = z * std::sqrt(std::numbers::pi / 2) * g.abs().mean().item<double>();
      const auto pruned = stochastic_pruned(g, at::scalar_tensor(static_cast<float>(tau)),
                                            Rng{.seed = seed, .layer = l});
      const double normal =
          1 - p + 2 / z * (1 - std::exp(-z * z / 2)) / std::sqrt(2 * std::numbers::pi);
      table.add({"density", info.name, p, tau, g.count_nonzero().item<double>() / entries,
                 pruned.kept.item<double>() / entries, normal, nullptr, nullptr, nullptr});
      if (p != 0.9 || tau == 0) continue;
      constexpr int64_t kBins = 40;
      const auto histogram = [&](const at::Tensor& values) {
        return at::histc((values / tau).flatten(), kBins, -2, 2);
      };
      const auto before = histogram(g), after = histogram(pruned.dy);
      for (int64_t b = 0; b < kBins; ++b) {
        table.add({"histogram", info.name, p, tau, nullptr, nullptr, nullptr,
                   -2 + 4.0 * static_cast<double>(b) / kBins, before[b].item<double>(),
                   after[b].item<double>()});
      }
    }
  }
  return table;
}

REGISTER_STUDY("densities", study_densities)
    .about("density of a network's gradients after stochastic pruning, by layer and p")
    .from_paper("ye2020", "Figure 2")
    .with(declare_training);

}  // namespace
}  // namespace approx
