// random_subset: each step trains on a fixed number of its candidates, drawn with equal chances.
//
// The control of every other source: it has the size of one and looks at nothing. It has no paper.
// The candidates of a step are the next `batch` examples of the epoch's random order, so the first
// ones of them are a random subset, and no further draw is needed. Nothing is weighted: the mean
// over a random subset is already unbiased.
#include "core/selections/selection.h"

namespace approx {
namespace {

class RandomSubset final : public BatchSource {
 public:
  explicit RandomSubset(const Params& params) : ratio_(params.real("ratio")) {}

  EpochPlan plan(const EpochCall& call) override {
    EpochPlan plan{.ids = {}, .per_step = share_of(ratio_, call.batch)};
    for (int64_t step = 0; step < call.steps; ++step) {
      const auto first = call.order.begin() + step * call.batch;
      plan.ids.insert(plan.ids.end(), first, first + plan.per_step);
    }
    return plan;
  }

  int64_t least_kept(const SourceSizes& sizes) const override {
    return share_of(ratio_, sizes.batch);
  }

 private:
  const double ratio_;
};

REGISTER_SELECTION("random_subset", RandomSubset)
    .about("a random part of each step's candidates: the control of the others")
    .param(ratio_param(0.5));

}  // namespace
}  // namespace approx
