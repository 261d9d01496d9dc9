#include "kernels/select/peak.h"

#include <ATen/Parallel.h>
#include <ATen/ops/empty.h>

#include <algorithm>

#include "kernels/gpu/start.h"
#include "kernels/numbers_of.h"
#include "kernels/select/select.h"

namespace approx {
namespace {

template <typename Number>
PeakArgs<Number> peak_args(const at::Tensor& dy, const at::Tensor& position,
                           const at::Tensor& sum) {
  return {dy.size(0),
          dy.size(2) * dy.size(3),
          dy.size(1),
          numbers_of<Number>(dy),
          position.mutable_data_ptr<int32_t>(),
          sum.mutable_data_ptr<float>()};
}

}  // namespace

bool has_plane_peak(const at::Tensor& dy) {
  return dy.is_cpu() || can_start<PeakArgs<float>>(dy.device());
}

std::pair<at::Tensor, at::Tensor> plane_peak(const at::Tensor& dy, Choosing how) {
  const auto type = dy.scalar_type();
  const bool as_it_lies =
      type == at::kBFloat16 || (type == at::kHalf && can_start<PeakArgs<Float16>>(dy.device()));
  const auto source =
      (as_it_lies ? dy : dy.to(at::kFloat)).contiguous(at::MemoryFormat::ChannelsLast);
  const auto options = at::TensorOptions().device(dy.device());
  const auto position = at::empty({dy.size(0), dy.size(1), 1}, options.dtype(at::kInt));
  const auto sum = at::empty({dy.size(0), dy.size(1), 1}, options.dtype(at::kFloat));
  if (!dy.is_cpu()) {
    of_three_types(source.scalar_type(), [&]<typename Number>(Number) {
      start(peak_args<Number>(source, position, sum), dy.device());
    });
    return {position, sum};
  }
  of_two_types(source.scalar_type(), [&]<typename Number>(Number) {
    const auto args = peak_args<Number>(source, position, sum);
    at::parallel_for(0, args.n, 1, [&](int64_t begin, int64_t end) {
      how == Choosing::kFastest ? plane_peak_simd(args, begin, end)
                                : plane_peak_reference(args, begin, end);
    });
  });
  return {position, sum};
}

bool has_plane_peaks(const at::Tensor& dy, int64_t k) {
  return k <= kMostPeaks && dy.numel() > 0 && can_start<PeaksArgs<float>>(dy.device());
}

std::pair<at::Tensor, at::Tensor> plane_peaks(const at::Tensor& dy, int64_t wanted, PeakScale scale,
                                              float factor) {
  const bool as_it_lies = of_three_types(dy.scalar_type(), [](auto) {});
  const auto source =
      (as_it_lies ? dy : dy.to(at::kFloat)).contiguous(at::MemoryFormat::ChannelsLast);
  const int64_t plane = dy.size(2) * dy.size(3), k = std::min(wanted, plane);
  const auto options = at::TensorOptions().device(dy.device());
  const auto position = at::empty({dy.size(0), dy.size(1), k}, options.dtype(at::kInt));
  const auto value = at::empty({dy.size(0), dy.size(1), k}, options.dtype(at::kFloat));
  of_three_types(source.scalar_type(), [&]<typename Number>(Number) {
    start<PeaksArgs<Number>>(
        {dy.size(0), plane, dy.size(1), k, scale, factor, numbers_of<Number>(source),
         position.mutable_data_ptr<int32_t>(), value.mutable_data_ptr<float>()},
        dy.device());
  });
  return {position, value};
}

}  // namespace approx
