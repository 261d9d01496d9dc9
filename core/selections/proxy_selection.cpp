// proxy_selection: trains on the candidates of highest loss in a small network beside.
//
// The published program airbench96_faster: a small network of the same kind computes the losses of
// each batch, and trains on the whole batch in every 4th step. The large network trains on the half
// of the examples with the highest losses. The losses are not weighted, so the gradient is biased.
//
// - The proxy is any network of this program, by its name: "small_cnn(width=8)". It has the recipe
//   and the learning rate of the training, and the weights of the run's seed.
// - Its norms use the statistics of the candidates in every step, as in training.
// - An example whose loss is no number counts as one of the highest losses.
#include <ATen/ATen.h>

#include "core/selections/selection.h"

namespace approx {
namespace {

class ProxySelection final : public BatchSource {
 public:
  explicit ProxySelection(const Params& params)
      : ratio_(params.real("ratio")),
        proxy_{Registry<SelectionEntry>::instance().find(params.owner()).proxy_network(params),
               params.integer("every")} {}

  ScoredBy scored_by() const override { return ScoredBy::kProxy; }
  ProxySettings proxy() const override { return proxy_; }

  int64_t least_kept(const SourceSizes& sizes) const override {
    return share_of(ratio_, sizes.batch);
  }

  at::Tensor choose(const BatchCall& call) override {
    // A stable sort, so that equal losses keep their order on every device.
    return call.losses.argsort(/*stable=*/true, 0, /*descending=*/true).narrow(0, 0, call.kept);
  }

 private:
  const double ratio_;
  const ProxySettings proxy_;
};

REGISTER_SELECTION("proxy_selection", ProxySelection)
    .about("the candidates of highest loss in a small network that trains beside")
    .from_paper("airbench", "airbench96_faster")
    .param(ratio_param(0.5))
    .param({SelectionInfo::kProxy, std::string("small_cnn(width=8)"),
            "the small network: name(key=value;...)"})
    .param({"every", int64_t{4}, "the small network trains in every so many steps", 1, 1e6});

}  // namespace
}  // namespace approx
