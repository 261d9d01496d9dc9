#include "core/train/rank_probe.h"

#include <ATen/ops/tensor.h>

#include <algorithm>
#include <limits>
#include <utility>

namespace approx {
namespace {

constexpr double kUnknown = std::numeric_limits<double>::infinity();

// The smallest of all that are known.
std::optional<double> smallest(const at::Tensor& all, int64_t column) {
  const double least = all.select(1, column).min().item<double>();
  return least == kUnknown ? std::nullopt : std::optional(least);
}

}  // namespace

MachineProbe probe_of_all(MachineProbe own, std::shared_ptr<Collectives> ranks) {
  if (!own || ranks == nullptr) return own;
  return [own = std::move(own), ranks = std::move(ranks)] {
    ranks->any(false);  // they begin together
    MachineState state = own();
    const auto all = ranks->gathered(
        at::tensor({state.core_share.value_or(kUnknown), state.clock_mhz.value_or(kUnknown)},
                   at::TensorOptions().dtype(at::kDouble)));
    state.core_share = smallest(all, 0);
    state.clock_mhz = smallest(all, 1);
    if (!state.slowed_by) return state;
    const bool is_slowed = ranks->any(!state.slowed_by->empty());
    if (is_slowed && state.slowed_by->empty()) state.slowed_by->push_back("another rank's device");
    return state;
  };
}

}  // namespace approx
