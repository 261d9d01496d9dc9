#include "results/rows/open_rate.h"

namespace approx {

std::string rate_obstacle(const Row& row, const ArmTrials& trials) {
  const auto open = [&](const Row* part) {
    return part != nullptr && part->first->tuned ? why_rate_open(part->first->config, trials) : "";
  };
  if (auto own = open(&row); !own.empty()) return "its learning rate is not enclosed: " + own;
  if (auto exact = open(row.dense); !exact.empty()) {
    return "the learning rate of exact training is not enclosed: " + exact;
  }
  return "";
}

}  // namespace approx
