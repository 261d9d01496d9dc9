#include "kernels/gpu/launch.cuh"
#include "kernels/pruned_dy/lists_gpu.h"
#include "kernels/pruned_dy/rows_gpu.h"
#include "kernels/pruned_dy/tiles_gpu.h"

namespace approx {
namespace {

template <typename Number>
void data_gradient_by_rows(const Arguments<PrunedDY, Number>& args, void* stream) {
  const Problem& p = args.problem;
  auto* entries =
      args.scratch->template room_for<RowEntry>(gradient_rows(p) * gradient_channels(p));
  auto* count = args.scratch->template room_for<int32_t>(gradient_rows(p));
  launch(ListRows<Number>{p, args.dy, entries, count}, stream);
  if (p.group_inputs() % 4 == 0 && lies_by(4, args.w) && lies_by(4, args.out)) {
    return launch(RowsDataGradient<Number, 4>{args, entries, count}, stream);
  }
  launch(RowsDataGradient<Number, 1>{args, entries, count}, stream);
}

template <typename Number, int kWidth>
void data_gradient_by_tiles_of(const Arguments<PrunedDY, Number>& args, void* stream) {
  const Problem& p = args.problem;
  auto* marks = args.scratch->template room_for<uint32_t>(gradient_rows(p) *
                                                          blocks_of(gradient_tiles(p), kWarp));
  launch(MarkTiles<Number, kWidth>{p, args.dy, marks}, stream);
  launch(TilesDataGradient<Number, kWidth>{args, marks}, stream);
}

template <typename Number>
void data_gradient_by_tiles(const Arguments<PrunedDY, Number>& args, void* stream) {
  const Problem& p = args.problem;
  if (p.group_inputs() % 4 == 0 && gradient_channels(p) % 4 == 0 && lies_by(4, args.w) &&
      lies_by(4, args.dy) && lies_by(4, args.out)) {
    return data_gradient_by_tiles_of<Number, 4>(args, stream);
  }
  data_gradient_by_tiles_of<Number, 1>(args, stream);
}

template <typename Number, int kWidth, int kChannels>
void weight_gradient_of(const Arguments<PrunedDY, Number>& args, void* stream) {
  using Lists = PixelLists<kChannels>;
  const Problem& p = args.problem;
  const int64_t lists = Lists::chunks(p) * Lists::tiles(p), slices = p.co * p.slice_size();
  const Lists all{args.scratch->template room_for<uint16_t>(lists * Lists::kChunk),
                  args.scratch->template room_for<int32_t>(lists)};
  ListedWeightGradient<Number, kWidth, kChannels> sums{args, all};
  sums.partial = args.scratch->template room_for<float>(sums.parts() * slices);
  launch(ListPixels<Number, kChannels>{p, args.dy, all}, stream);
  launch(sums, stream);
  launch(SumOfParts<Number>{sums.parts(), slices, sums.partial, args.out}, stream);
}

template <typename Number, int kChannels>
void weight_gradient(const Arguments<PrunedDY, Number>& args, void* stream) {
  if (args.problem.group_inputs() % 4 == 0 && lies_by(4, args.x)) {
    return weight_gradient_of<Number, 4, kChannels>(args, stream);
  }
  weight_gradient_of<Number, 1, kChannels>(args, stream);
}

// The built-in table of rules has no rows of these: one is taken where another table says so, or by
// its name. On an H200 (docs/internals/gpu.md) those in 16 bits are slower than the exact product
// nearly everywhere; those in float are faster on some layers where a tenth of dY is left, on most
// where a hundredth is. A tile is of no use among independent entries: all of its 64 (in lists
// eight) are zero with (1 - density)^64 ((1 - density)^8).
#define APPROX_VARIANT(NAME, FUNCTION, PRODUCT, ELEMENT, RANK) \
  REGISTER_KERNEL(PrunedDY, NAME, FUNCTION)                    \
      .computes({Product::PRODUCT})                            \
      .reads({ElementType::ELEMENT})                           \
      .where(gradient_rows_fit)                                \
      .ruled_against("exact")                                  \
      .waits_for_density()                                     \
      .rank(RANK)
#define APPROX_VARIANTS_OF(NUMBER, ELEMENT, SUFFIX)                                                \
  APPROX_VARIANT("sparse_rows_cuda" SUFFIX, data_gradient_by_rows<NUMBER>, kDataGradient, ELEMENT, \
                 -1);                                                                              \
  APPROX_VARIANT("block_rows_cuda" SUFFIX, data_gradient_by_tiles<NUMBER>, kDataGradient, ELEMENT, \
                 0);                                                                               \
  APPROX_VARIANT("sparse_lists_cuda" SUFFIX, (weight_gradient<NUMBER, 1>), kWeightGradient,        \
                 ELEMENT, -1);                                                                     \
  APPROX_VARIANT("block_lists_cuda" SUFFIX, (weight_gradient<NUMBER, kTileChannels>),              \
                 kWeightGradient, ELEMENT, 0)

APPROX_VARIANTS_OF(float, kFloat, "");
APPROX_VARIANTS_OF(BFloat16, kBFloat16, "_bf16");
APPROX_VARIANTS_OF(Float16, kHalf, "_fp16");

#undef APPROX_VARIANTS_OF
#undef APPROX_VARIANT

}  // namespace
}  // namespace approx
