// batch_threshold: as infobatch, with the mean loss of an example's own batch as the threshold.
//
// RePB ("Resolving Pruning Biases", 2026) compares losses only within a window of steps in which
// the weights hardly change, as losses of an epoch are of very different weights. Ours: an example
// is well learnt if its last loss was below the mean loss of the batch in which it was trained.
// That mean is weighted, as the batch lacks some of the low losses: else it would rise by pruning.
// The next epoch keeps 1 - r of those, each weighted by 1 / (1 - r).
//
// - Read from abstracts and second-hand descriptions; no published code was at hand. The window is
//   one batch here.
// - The paper weights an example by how often it was drawn in all epochs so far. Ours has
//   infobatch's weight of one epoch, which leaves the expected gradient unbiased.
// - Steps, weights and rounding are those of infobatch (core/selections/infobatch.cpp).
#include "core/selections/selection.h"

namespace approx {
namespace {

class BatchThreshold final : public BatchSource {
 public:
  explicit BatchThreshold(const Params& params)
      : r_(params.real("r")), delta_(params.real("delta")) {}

  Remembered remembers() const override { return Remembered::kMargin; }

  bool weighs() const override { return true; }

  EpochPlan plan(const EpochCall& call) override {
    if (trains_on_everything(call, delta_)) return {.ids = call.order};
    const auto* margin = call.remembered.const_data_ptr<float>();
    std::vector<bool> well;
    for (int64_t id = 0; id < call.remembered.numel(); ++id) well.push_back(margin[id] < 0);
    return prune_well_learnt(call, well, r_);
  }

  int64_t least_kept(const SourceSizes& sizes) const override {
    return kept_per_step(least_kept_of_pruned(sizes.examples, r_), sizes.steps, sizes.batch);
  }

 private:
  const double r_, delta_;
};

REGISTER_SELECTION("batch_threshold", BatchThreshold)
    .about("as infobatch, with the mean loss of an example's own batch as the threshold")
    .from_paper("repb2026", "abstract")
    .in_version(2)  // weighted means; an epoch that ends in the last part trains on everything
    .begins_after_an_epoch()
    .param(prune_param())
    .param(until_param());

}  // namespace
}  // namespace approx
