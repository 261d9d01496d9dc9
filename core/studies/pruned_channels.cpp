// pruned-channels: what structured pruning leaves of four neighbouring channels of a recorded data
// gradient (McDanel et al. 2022, Figure 5): as it is, and after each method. Part "pixel": every
// value of one image, in units of the largest magnitude; part "summary": the share of zeros and the
// sum of magnitudes against the exact gradient, over the whole batch.
#include <ATen/ATen.h>

#include "base/error.h"
#include "core/studies/recorded.h"
#include "kernels/kernel.h"

namespace approx {
namespace {

StudyTable study_pruned_channels(const StudyRequest& request) {
  StudyTable table({"part", "layer", "method", "channel", "y", "x", "value", "zeros", "l1_ratio"});
  const auto wanted = static_cast<size_t>(request.params.integer("layer"));
  const auto layers = recorded_layers(request);
  if (wanted > layers.size()) {
    throw usage_error("study: --layer {}: the network has {} layers", wanted, layers.size());
  }
  const LayerInfo& info = layers[wanted - 1].first;
  Operands operands = layers[wanted - 1].second;
  operands.product = Product::kDataGradient;
  if (info.kind == "linear") {
    throw usage_error("study: --layer {}: {} has no maps; choose a convolution", wanted, info.name);
  }
  const auto channels = std::min<int64_t>(4, operands.dy.size(1));
  const auto add = [&](const std::string& label, const at::Tensor& dy) {
    const auto g = dy.to(at::kFloat);
    const auto exact = operands.dy.to(at::kFloat);
    const double largest = exact[0].narrow(0, 0, channels).abs().max().item<double>();
    table.add({"summary", info.name, label, nullptr, nullptr, nullptr, nullptr,
               1 - g.count_nonzero().item<double>() / static_cast<double>(g.numel()),
               g.abs().sum().item<double>() / exact.abs().sum().item<double>()});
    const auto image = g[0].narrow(0, 0, channels).contiguous();
    const auto values = image.accessor<float, 3>();
    for (int64_t c = 0; c < channels; ++c) {
      for (int64_t y = 0; y < image.size(1); ++y) {
        for (int64_t x = 0; x < image.size(2); ++x) {
          table.add({"pixel", info.name, label, c, y, x,
                     largest > 0 ? values[c][y][x] / largest : 0.0, nullptr, nullptr});
        }
      }
    }
  };
  add("exact", operands.dy);
  for (const auto& text : request.methods) {
    const auto method = make_method(text);
    const Rng rng{.seed = static_cast<uint64_t>(request.params.integer("seed"))};
    const auto plan = method->plan(operands, {.rng = rng, .norm_follows = info.norm_follows});
    if (!pruned_gradient(plan, operands).replaces) {
      throw usage_error("study: {} prunes no gradient; choose sdgp or stochastic_pruning", text);
    }
    add(text, used_gradient(plan, operands.dy));
  }
  return table;
}

REGISTER_STUDY("pruned-channels", study_pruned_channels)
    .about("four channels of a recorded gradient before and after pruning")
    .from_paper("mcdanel2022", "Figure 5")
    .by_methods({"sdgp:rank=random,rescale=none", "sdgp:rescale=none", "sdgp"})
    .param({"layer", int64_t{2}, "layer of the network, from 1", 1})
    .with(declare_training);

}  // namespace
}  // namespace approx
