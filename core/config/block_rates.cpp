#include "core/config/block_rates.h"

#include <algorithm>

#include "core/config/step_draws.h"

namespace approx {

std::vector<int64_t> rates_by_sensitivity(const std::vector<BlockWorth>& blocks, int64_t patterns) {
  const int64_t most = std::max(StepDraws::kPatterns * 9 / 10, patterns);
  std::vector<int64_t> rates(blocks.size(), 0);
  int64_t wanted = 0, left_out = 0;
  for (const auto& block : blocks) wanted += patterns * block.work;
  while (left_out < wanted) {
    size_t next = blocks.size();
    double least = 0;
    for (size_t i = 0; i < blocks.size(); ++i) {
      if (rates[i] == most) continue;
      const double cost = blocks[i].sensitivity * static_cast<double>(rates[i] + 1);
      if (next < blocks.size() && cost >= least) continue;
      next = i;
      least = cost;
    }
    ++rates[next];  // (While some work is wanted, a block is below `most`, which is no less.)
    left_out += blocks[next].work;
  }
  return rates;
}

}  // namespace approx
