#include "kernels/operands.h"

#include <algorithm>

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

template <typename Real>
double sampled_density(const at::Tensor& dy) {
  // Places as far apart as can be, and of each what one access to memory brings.
  constexpr int64_t kPlaces = 64, kTogether = 16;
  const auto* entry = dy.const_data_ptr<Real>();
  const int64_t all = dy.numel();
  if (all == 0) return 1;
  const auto nonzero = [&](int64_t first, int64_t count) {
    return std::count_if(entry + first, entry + first + count, [](Real g) { return g != 0; });
  };
  if (all <= kPlaces * kTogether) {
    return static_cast<double>(nonzero(0, all)) / static_cast<double>(all);
  }
  int64_t found = 0;
  for (int64_t place = 0; place < kPlaces; ++place) {
    found += nonzero((all - kTogether) * place / (kPlaces - 1), kTogether);
  }
  return static_cast<double>(found) / (kPlaces * kTogether);
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

double density_by_sample(const at::Tensor& dy) {
  if (!dy.is_cpu() || !dy.is_non_overlapping_and_dense()) return 1;
  if (dy.scalar_type() == at::kFloat) return sampled_density<float>(dy);
  return dy.scalar_type() == at::kBFloat16 ? sampled_density<at::BFloat16>(dy) : 1;
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
