#include "kernels/sparse_dy/sparse_dy.h"

#include <ATen/Parallel.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/repeat_interleave.h>
#include <ATen/ops/zeros.h>

#include <cassert>

#include "kernels/sparse_dy/sparse_dy_product.h"

namespace approx {
namespace {

// The kernels read float, channels last; a tensor that is so already is not copied.
at::Tensor channels_last_float(const at::Tensor& tensor) {
  return tensor.to(at::kFloat).contiguous(at::MemoryFormat::ChannelsLast);
}

}  // namespace

SparseDY SparseDY::from_topk(const at::Tensor& position, const at::Tensor& value) {
  const int64_t rows = position.size(0) * position.size(1), k = position.size(2);
  return {at::arange(0, rows * k + 1, std::max<int64_t>(k, 1), position.options().dtype(at::kLong)),
          position.to(at::kInt).flatten().contiguous(),
          value.to(at::kFloat).flatten().contiguous()};
}

at::Tensor densify(const SparseDY& plan, const Operands& o) {
  const int64_t plane = o.dy.size(2) * o.dy.size(3);
  auto dense = at::zeros({o.dy.size(0) * o.dy.size(1), plane}, plan.value.options());
  const auto counts = plan.row_start.diff();
  const auto row = at::repeat_interleave(counts);  // [entries]: the row of each entry
  dense.index_put_({row, plan.position.to(at::kLong)}, plan.value);
  return dense.view(o.dy.sizes()).to(o.dy.scalar_type()).contiguous(o.dy.suggest_memory_format());
}

at::Tensor sparse_dy_weight_gradient(const SparseDY& plan, const Operands& o, bool simd) {
  const auto x = channels_last_float(o.x);
  SparseDYArgs args;
  args.n = x.size(0);
  args.ci = x.size(1);
  args.h = x.size(2);
  args.w = x.size(3);
  args.co = o.dy.size(1);
  args.ho = o.dy.size(2);
  args.wo = o.dy.size(3);
  args.kh = o.w.size(2);
  args.kw = o.w.size(3);
  args.stride = o.geometry.stride;
  args.padding = o.geometry.padding;
  args.dilation = o.geometry.dilation;
  args.x = x.const_data_ptr<float>();
  const auto row_start = plan.row_start.contiguous();
  args.row_start = row_start.const_data_ptr<int64_t>();
  args.position = plan.position.const_data_ptr<int32_t>();
  args.value = plan.value.const_data_ptr<float>();
  assert(row_start.numel() == args.n * args.co + 1);

  // [Co,Kh,Kw,Ci] in memory is [Co,Ci,Kh,Kw] with the channels last.
  auto dw =
      at::empty({args.co, args.kh, args.kw, args.ci}, x.options().memory_format(c10::nullopt));
  args.dw = dw.mutable_data_ptr<float>();
  at::parallel_for(0, args.co, 1, [&](int64_t begin, int64_t end) {
    (simd ? sparse_dy_weight_gradient_simd : sparse_dy_weight_gradient_reference)(args, begin, end);
  });
  return dw.permute({0, 3, 1, 2}).to(o.w.scalar_type());
}

std::pair<at::Tensor, at::Tensor> plane_peak(const at::Tensor& dy, bool simd) {
  const auto source = channels_last_float(dy);
  const auto options = source.options().memory_format(c10::nullopt);
  auto position = at::empty({dy.size(0), dy.size(1), 1}, options.dtype(at::kInt));
  auto sum = at::empty({dy.size(0), dy.size(1), 1}, options);
  const PeakArgs args{dy.size(0),
                      dy.size(2) * dy.size(3),
                      dy.size(1),
                      source.const_data_ptr<float>(),
                      position.mutable_data_ptr<int32_t>(),
                      sum.mutable_data_ptr<float>()};
  at::parallel_for(0, args.n, 1, [&](int64_t begin, int64_t end) {
    (simd ? plane_peak_simd : plane_peak_reference)(args, begin, end);
  });
  return {position, sum};
}

}  // namespace approx
