#include "results/reports/report.h"

#include <algorithm>

namespace approx {

std::vector<const Report*> reports() {
  auto all = Registry<Report>::instance().all();
  std::stable_sort(all.begin(), all.end(),
                   [](const Report* a, const Report* b) { return a->place < b->place; });
  return all;
}

}  // namespace approx
