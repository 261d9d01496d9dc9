#include "kernels/pruned_dy/tiles_gpu.h"
#include "tests/gpu_checks/pruned.h"

namespace approx {
namespace {

template <typename Number, int kWidth>
std::string tiles_agree(uint64_t seed) {
  const Pruned<Number> pruned(Product::kDataGradient, kWidth, seed);
  return pruned.agrees([&](const auto& args, Order order) {
    const Problem& p = args.problem;
    GpuArray<uint32_t> marks(gradient_rows(p) * blocks_of(gradient_tiles(p), kWarp));
    std::string failed = emulate(MarkTiles<Number, kWidth>{p, args.dy, marks.data()}, order);
    if (failed.empty()) {
      failed = emulate(TilesDataGradient<Number, kWidth>{args, marks.data()}, order);
    }
    return marks.intact() ? failed : "it wrote outside its marks";
  });
}

std::vector<Agreement> pruned_tiles_on_gpu() {
  std::vector<Agreement> all;
  for_numbers_of_pruned([&]<typename Number>(Number, const std::string& named) {
    all.push_back({named + "tiles, fours", tiles_agree<Number, 4>});
    all.push_back({named + "tiles, one by one", tiles_agree<Number, 1>});
  });
  return all;
}

const GpuChecks kChecks{pruned_tiles_on_gpu};

}  // namespace

}  // namespace approx
