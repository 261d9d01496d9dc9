#include "kernels/operands.h"

namespace approx {
namespace {

Hardware hardware_of(const at::Tensor& tensor) {
  if (tensor.is_cpu()) return Hardware::kCpu;
  return tensor.is_cuda() ? Hardware::kCuda : Hardware::kOther;
}

ElementType element_type(const at::Tensor& tensor) {
  switch (tensor.scalar_type()) {
    case at::kFloat:
      return ElementType::kFloat;
    case at::kDouble:
      return ElementType::kDouble;
    case at::kHalf:
      return ElementType::kHalf;
    case at::kBFloat16:
      return ElementType::kBFloat16;
    default:
      return ElementType::kOther;
  }
}

MapLayout layout_of_map(const at::Tensor& map) {
  if (map.is_contiguous(at::MemoryFormat::ChannelsLast)) return MapLayout::kChannelsLast;
  return map.is_contiguous() ? MapLayout::kChannelsFirst : MapLayout::kOther;
}

}  // namespace

Problem problem_of(Product product, at::IntArrayRef input, const at::Tensor& w,
                   const Geometry& geometry) {
  const auto weight = w.sizes();
  const Spatial out = output_size({input[2], input[3]}, {weight[2], weight[3]}, geometry);
  return {.product = product,
          .geometry = geometry,
          .n = input[0],
          .ci = input[1],
          .h = input[2],
          .w = input[3],
          .co = weight[0],
          .ho = out.h,
          .wo = out.w,
          .kh = weight[2],
          .kw = weight[3],
          .device = hardware_of(w),
          .element = element_type(w)};
}

Problem problem_of(const Operands& o) {
  Problem problem = problem_of(o.product, o.input_sizes, o.w, o.geometry);
  const auto& map = o.product == Product::kDataGradient || !o.x.defined() ? o.dy : o.x;
  if (map.defined()) problem.layout = layout_of_map(map);
  return problem;
}

std::vector<int64_t> result_sizes(const Problem& p) {
  switch (p.product) {
    case Product::kForward:
      return {p.n, p.co, p.ho, p.wo};
    case Product::kDataGradient:
      return {p.n, p.ci, p.h, p.w};
    case Product::kWeightGradient:
      return {p.co, p.group_inputs(), p.kh, p.kw};
  }
  return {};
}

}  // namespace approx
