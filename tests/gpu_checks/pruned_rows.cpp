#include "kernels/pruned_dy/rows_gpu.h"
#include "tests/gpu_checks/pruned.h"

namespace approx {
namespace {

template <typename Number, int kWidth>
std::string rows_agree(uint64_t seed) {
  const Pruned<Number> pruned(Product::kDataGradient, kWidth, seed);
  return pruned.agrees([&](const auto& args, Order order) {
    const Problem& p = args.problem;
    GpuArray<RowEntry> entries(gradient_rows(p) * gradient_channels(p));
    GpuArray<int32_t> count(gradient_rows(p));
    std::string failed = emulate(ListRows<Number>{p, args.dy, entries.data(), count.data()}, order);
    if (failed.empty()) {
      failed = emulate(RowsDataGradient<Number, kWidth>{args, entries.data(), count.data()}, order);
    }
    return entries.intact() && count.intact() ? failed : "it wrote outside its lists";
  });
}

std::vector<Agreement> pruned_rows_on_gpu() {
  std::vector<Agreement> all;
  for_numbers_of_pruned([&]<typename Number>(Number, const std::string& named) {
    all.push_back({named + "rows, fours", rows_agree<Number, 4>});
    all.push_back({named + "rows, one by one", rows_agree<Number, 1>});
  });
  return all;
}

const GpuChecks kChecks{pruned_rows_on_gpu};

}  // namespace

}  // namespace approx
