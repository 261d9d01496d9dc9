#include "kernels/pruned_dy/lists_gpu.h"
#include "tests/gpu_checks/pruned.h"

namespace approx {
namespace {

template <typename Number, int kWidth, int kChannels>
std::string lists_agree(uint64_t seed) {
  const Pruned<Number> pruned(Product::kWeightGradient, kWidth, seed);
  const int64_t enough = seed % 2 == 0 ? 1024 : 2;
  return pruned.agrees([&](const auto& args, Order order) {
    const Problem& p = args.problem;
    using Lists = PixelLists<kChannels>;
    const int64_t lists = Lists::chunks(p) * Lists::tiles(p);
    GpuArray<uint16_t> pixel(lists * Lists::kChunk);
    GpuArray<int32_t> count(lists);
    const Lists all{pixel.data(), count.data()};
    ListedWeightGradient<Number, kWidth, kChannels> sums{args, all, nullptr, enough};
    const int64_t slices = p.co * p.slice_size();
    GpuArray<float> partial(sums.parts() * slices);
    sums.partial = partial.data();
    std::string failed = emulate(ListPixels<Number, kChannels>{p, args.dy, all}, order);
    if (failed.empty()) failed = emulate(sums, order);
    if (failed.empty()) {
      failed = emulate(SumOfParts<Number>{sums.parts(), slices, partial.data(), args.out}, order);
    }
    const bool intact = pixel.intact() && count.intact() && partial.intact();
    return intact ? failed : "it wrote outside its lists";
  });
}

std::vector<Agreement> pruned_lists_on_gpu() {
  std::vector<Agreement> all;
  for_numbers_of_pruned([&]<typename Number>(Number, const std::string& named) {
    all.push_back({named + "lists, fours", lists_agree<Number, 4, 1>});
    all.push_back({named + "lists, one by one", lists_agree<Number, 1, 1>});
    all.push_back({named + "lists of tiles, fours", lists_agree<Number, 4, kTileChannels>});
    all.push_back({named + "lists of tiles, one by one", lists_agree<Number, 1, kTileChannels>});
  });
  return all;
}

const GpuChecks kChecks{pruned_lists_on_gpu};

}  // namespace

}  // namespace approx
