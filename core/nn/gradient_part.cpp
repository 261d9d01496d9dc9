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
  // Whatever the plan is: of one method a rank may sample and another, by its own examples, take
  // all, and both must send alike.
  kind = Kind::kScattered;
}

}  // namespace approx
