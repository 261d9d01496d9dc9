#include "core/train/block_order.h"

#include "kernels/rng.h"

namespace approx {

std::vector<bool> exact_first(int64_t pairs, uint64_t draw) {
  std::vector<bool> order;
  for (int64_t pair = 0; pair < pairs; ++pair) {
    const Rng rng{.seed = draw, .step = static_cast<uint64_t>(pair / 2), .stream = kBlockStream};
    const bool first = rng.block(0)[0] & 1;
    order.push_back(pair % 2 == 0 ? first : !first);
  }
  return order;
}

}  // namespace approx
