#include "results/rows/open_rate.h"

#include <set>

namespace approx {

std::string why_row_rate_open(const Row& row, const ArmTrials& trials) {
  // Seeds of a row may have rates of their own, if its arm was tuned further between them.
  std::set<double> rates;
  for (const auto* cell : row.cells) {
    if (!cell->tuned || !rates.insert(cell->config.recipe.learning_rate).second) continue;
    if (auto open = why_rate_open(cell->config, trials); !open.empty()) return open;
  }
  return "";
}

std::string rate_obstacle(const Row& row, const ArmTrials& trials) {
  if (auto own = why_row_rate_open(row, trials); !own.empty()) {
    return "its learning rate is not enclosed: " + own;
  }
  if (row.dense == nullptr) return "";
  if (auto exact = why_row_rate_open(*row.dense, trials); !exact.empty()) {
    return "the learning rate of exact training is not enclosed: " + exact;
  }
  return "";
}

}  // namespace approx
