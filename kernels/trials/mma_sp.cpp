// The data gradient of two of every four channels of dY on the sparse tensor cores of a GPU
// (kernels/trials/mma_sp_gpu.h): one launch chooses and stores, the next multiplies.
#include <ATen/ops/empty.h>

#include "kernels/gpu/start.h"
#include "kernels/kernel.h"
#include "kernels/numbers_of.h"
#include "kernels/trials/sixteens.h"
#include "kernels/trials/two_of_four.h"
#include "kernels/variant.h"

namespace approx {
namespace {

struct TwoOfFour {
  at::Tensor stored;  // [pixels, Co/2]
  at::Tensor places;  // [pixels, Co/16] of sixteen bits
};

template <typename Number>
TwoOfFour two_of_four(const StructuredDY& plan, const at::Tensor& gradient) {
  const auto dy = in_sixteens(gradient);
  const int64_t channels = dy.size(1), pixels = dy.size(0) * dy.size(2) * dy.size(3);
  TwoOfFour result{at::empty({pixels, channels / 2}, dy.options()),
                   at::empty({pixels, channels / 16}, dy.options().dtype(at::kShort))};
  const NmArgs<Number> args{.pixels = pixels,
                            .channels = channels,
                            .n = plan.choice.n,
                            .m = plan.choice.m,
                            .random = plan.choice.random,
                            .rescale_group = plan.choice.rescaling == Rescaling::kGroup,
                            .dy = numbers_of<Number>(dy),
                            .rng = plan.rng};
  start<CompressArgs<Number>>({args, dy.size(0), plan.choice.rescaling == Rescaling::kPlane,
                               mutable_numbers_of<Number>(result.stored),
                               static_cast<uint16_t*>(result.places.mutable_data_ptr())},
                              dy.device());
  return result;
}

template <typename Number>
at::Tensor multiply_two_of_four(const TwoOfFour& dy, const Operands& o) {
  const Problem problem = problem_of(o);
  const auto w = in_sixteens(o.w);
  auto dx =
      at::empty(result_sizes(problem), w.options().memory_format(at::MemoryFormat::ChannelsLast));
  start<SparseGradientArgs<Number>>({problem, numbers_of<Number>(dy.stored),
                                     static_cast<const uint16_t*>(dy.places.const_data_ptr()),
                                     numbers_of<Number>(w), mutable_numbers_of<Number>(dx)},
                                    w.device());
  return dx;
}

template <typename Number>
PreparedProduct two_of_four_in(const StructuredDY& plan, const Operands& o) {
  return [dy = two_of_four<Number>(plan, o.dy), o] { return multiply_two_of_four<Number>(dy, o); };
}

PreparedProduct prepare_two_of_four(const StructuredDY& plan, const Operands& o) {
  return o.dy.scalar_type() == at::kHalf ? two_of_four_in<Float16>(plan, o)
                                         : two_of_four_in<BFloat16>(plan, o);
}

at::Tensor by_tensor_cores(const StructuredDY& plan, const Operands& o) {
  return prepare_two_of_four(plan, o)();
}

// Whether the library of kernels is open, too.
bool two_of_four_fits(const Problem& p) {
  const bool launches = launch_of<SparseGradientArgs<BFloat16>>() != nullptr &&
                        launch_of<CompressArgs<BFloat16>>() != nullptr;
  return launches && takes_two_of_four(p);
}

// On an H200 slower than the exact product on all layers of two networks (docs/internals/gpu.md).
REGISTER_KERNEL(StructuredDY, "mma_sp", by_tensor_cores)
    .computes({Product::kDataGradient})
    .on({Hardware::kCuda})
    .reads({ElementType::kBFloat16, ElementType::kHalf})
    .where(two_of_four_fits)
    .trial()
    .in_two_parts(prepare_two_of_four)
    .rank(-2);

}  // namespace
}  // namespace approx
