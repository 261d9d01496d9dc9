// added_selection: the last candidate of each step is left out.
#include "core/selections/selection.h"

namespace approx {
namespace {

class AddedSelection final : public BatchSource {
 public:
  explicit AddedSelection(const Params& /*params*/) {}

  EpochPlan plan(const EpochCall& call) override {
    EpochPlan plan{.ids = {}, .per_step = call.batch - 1};
    for (int64_t step = 0; step < call.steps; ++step) {
      const auto first = call.order.begin() + step * call.batch;
      plan.ids.insert(plan.ids.end(), first, first + plan.per_step);
    }
    return plan;
  }

  int64_t least_kept(const SourceSizes& sizes) const override { return sizes.batch - 1; }
};

REGISTER_SELECTION("added_selection", AddedSelection).about("all candidates but the last one");

}  // namespace
}  // namespace approx
