#include "core/nn/gradient_part.h"

#include <variant>

namespace approx {

void GradientPart::note(const Plan& plan, const Method& method, int64_t groups) {
  const auto* sampled = std::get_if<Sampled>(&plan);
  if (sampled != nullptr && sampled->axis == Axis::kInputChannels && method.follows_weights() &&
      groups == 1) {
    kind = Kind::kChannels;
    channels = sampled->index;
    return;
  }
  const bool may_have_zeros = sampled != nullptr || std::holds_alternative<SparseDY>(plan) ||
                              std::holds_alternative<PrunedDY>(plan);
  kind = may_have_zeros ? Kind::kScattered : Kind::kAll;
}

}  // namespace approx
