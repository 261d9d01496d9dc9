// proxy_selection: trains on the candidates of highest loss in a small network beside.
//
// The published program airbench96_faster: a small network of the same kind computes the losses of
// each batch. The large network trains on the half of the examples with the highest losses, and so
// does the small one in every 4th step. The losses are not weighted, so the gradient is biased.
//
// - The program trains the small network beforehand, on the batches that the large one will see,
//   and keeps its choices. Ours trains beside, which comes to the same.
// - The program adds the losses of the 512 examples, at a learning rate for 1,024. Ours takes their
//   mean, as for every batch of this program: twice the step at that rate.
// - The whitening bias of the program's small network never trains. Ours trains as long as that of
//   the large one (`first_bias_epochs`).
// - `trains_on=all` is ours: the small network trains on all candidates.
// - The proxy is any network of this program, by its name: "small_cnn(width=8)". It has the recipe
//   and the learning rate of the training, and the weights of the run's seed.
// - Its norms use the statistics of the candidates in every step, as in training.
// - An example whose loss is no number counts as one of the highest losses.
#include <ATen/ATen.h>

#include "core/selections/selection.h"

namespace approx {

enum class ProxyTrainsOn { kKept, kAll };

constexpr auto enum_texts(ProxyTrainsOn) {
  return std::to_array<EnumText<ProxyTrainsOn>>(
      {{ProxyTrainsOn::kKept, "kept"}, {ProxyTrainsOn::kAll, "all"}});
}

namespace {

class ProxySelection final : public BatchSource {
 public:
  explicit ProxySelection(const Params& params)
      : ratio_(params.real("ratio")),
        proxy_{Registry<SelectionEntry>::instance().find(params.owner()).proxy_network(params),
               params.integer("every"),
               params.choice<ProxyTrainsOn>("trains_on") == ProxyTrainsOn::kAll} {}

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
    .in_version(2)  // the small network trains on what is kept
    .param(ratio_param(0.5))
    .param({SelectionInfo::kProxy, std::string("small_cnn(width=8)"),
            "the small network: name(key=value;...)"})
    .param({"every", int64_t{4}, "the small network trains in every so many steps", 1, 1e6})
    .param({.name = "trains_on",
            .fallback = std::string("kept"),
            .help = "what the small network trains on: the kept candidates or all",
            .choices = names_of_enum<ProxyTrainsOn>()});

}  // namespace
}  // namespace approx
