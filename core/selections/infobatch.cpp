// infobatch: prunes a part of the examples with a low last loss, and weights the rest of them.
//
// Qin et al. 2024, InfoBatch, section 3: an epoch keeps every example whose last loss is not below
// the mean of all last losses. Of the others it keeps each with probability 1 - r, and multiplies
// its loss by 1 / (1 - r), which keeps the gradient unbiased. Epochs that end in the last part of
// the training, 1 - `delta` of it, train on everything.
//
// - The paper draws each example by itself; its published code keeps int((1 - r) n) of the n
//   examples below the mean, without replacement. Ours does as the code does.
// - In paper and code a step has the whole batch size, and an epoch has fewer steps. Ours has an
//   unchanged number of steps, each with a smaller batch, and multiplies losses by the kept share.
//   So schedules of layers, the learning rate and an exact training count the same steps. What the
//   losses add to the weights in an epoch of SGD is equal by expectation. Weight decay acts once a
//   step, so more often than in the paper, and an optimizer that divides by the gradient's size,
//   such as Adam, makes more updates of full size.
// - The examples of a step are a multiple of a sixteenth of the batch, rounded down, so that few
//   sizes occur. The rest of an epoch's examples, drawn by chance, is left out without a weight.
// - The code begins with a constant in place of losses. Ours keeps examples that no step has
//   trained on, with the weight 1, and leaves them out of the mean.
// - `score` = norm reads the norm of the loss's gradient in the logits in place of the loss; ours.
#include <cmath>

#include "core/selections/selection.h"

namespace approx {
namespace {

enum class InfoScore { kLoss, kNorm };

constexpr auto enum_texts(InfoScore) {
  return std::to_array<EnumText<InfoScore>>(
      {{InfoScore::kLoss, "loss"}, {InfoScore::kNorm, "norm"}});
}

class InfoBatch final : public BatchSource {
 public:
  explicit InfoBatch(const Params& params)
      : r_(params.real("r")),
        delta_(params.real("delta")),
        score_(params.choice<InfoScore>("score")) {}

  Remembered remembers() const override {
    return score_ == InfoScore::kNorm ? Remembered::kNorm : Remembered::kLoss;
  }

  bool weighs() const override { return true; }

  EpochPlan plan(const EpochCall& call) override {
    if (trains_on_everything(call, delta_)) return {.ids = call.order};
    const auto* last = call.remembered.const_data_ptr<float>();
    double sum = 0;
    int64_t seen = 0;
    for (int64_t id = 0; id < call.remembered.numel(); ++id) {
      if (std::isnan(last[id])) continue;
      sum += last[id];
      ++seen;
    }
    const double mean = seen == 0 ? 0 : sum / static_cast<double>(seen);
    std::vector<bool> well;
    for (int64_t id = 0; id < call.remembered.numel(); ++id) {
      well.push_back(last[id] < mean);  // false for NaN
    }
    return prune_well_learnt(call, well, r_);
  }

  int64_t least_kept(const SourceSizes& sizes) const override {
    return kept_per_step(least_kept_of_pruned(sizes.examples, r_), sizes.steps, sizes.batch);
  }

 private:
  const double r_, delta_;
  const InfoScore score_;
};

REGISTER_SELECTION("infobatch", InfoBatch)
    .about("prunes examples of low last loss, weights the rest of them by 1 / (1 - r)")
    .from_paper("qin2024", "section 3")
    .in_version(2)  // an epoch that ends in the last part trains on everything
    .begins_after_an_epoch()
    .param(prune_param())
    .param(until_param())
    .param({.name = "score",
            .fallback = std::string("loss"),
            .help = "what is remembered: the loss, or the norm of its gradient in the logits",
            .choices = names_of_enum<InfoScore>()});

}  // namespace
}  // namespace approx
