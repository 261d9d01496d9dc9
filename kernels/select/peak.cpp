#include "kernels/select/peak.h"

#include <ATen/Parallel.h>
#include <ATen/ops/empty.h>

#include "kernels/gpu/start.h"
#include "kernels/select/select.h"

namespace approx {

bool has_plane_peak(const at::Tensor& dy) {
  return dy.is_cpu() || can_start<PeakArgs>(dy.device());
}

std::pair<at::Tensor, at::Tensor> plane_peak(const at::Tensor& dy, Choosing how) {
  const auto source = dy.to(at::kFloat).contiguous(at::MemoryFormat::ChannelsLast);
  const auto options = source.options().memory_format(c10::nullopt);
  auto position = at::empty({dy.size(0), dy.size(1), 1}, options.dtype(at::kInt));
  auto sum = at::empty({dy.size(0), dy.size(1), 1}, options);
  const PeakArgs args{dy.size(0),
                      dy.size(2) * dy.size(3),
                      dy.size(1),
                      source.const_data_ptr<float>(),
                      position.mutable_data_ptr<int32_t>(),
                      sum.mutable_data_ptr<float>()};
  if (!dy.is_cpu()) {
    start(args, dy.device());
    return {position, sum};
  }
  const auto loop = how == Choosing::kFastest ? plane_peak_simd : plane_peak_reference;
  at::parallel_for(0, args.n, 1, [&](int64_t begin, int64_t end) { loop(args, begin, end); });
  return {position, sum};
}

}  // namespace approx
