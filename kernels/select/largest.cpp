#include "kernels/select/largest.h"

#include <ATen/ops/empty.h>
#include <ATen/ops/sort.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "kernels/gpu/start.h"
#include "kernels/select/select.h"

namespace approx {
namespace {

// The numbers lie here: two sorts of tensors take longer than a small layer's product.
at::Tensor largest_here(const at::Tensor& scores, int64_t k) {
  const auto numbers = scores.to(at::kDouble).contiguous();
  const auto* score = numbers.const_data_ptr<double>();
  std::vector<int64_t> order(static_cast<size_t>(numbers.numel()));
  std::iota(order.begin(), order.end(), 0);
  std::nth_element(order.begin(), order.begin() + k, order.end(), [&](int64_t a, int64_t b) {
    const bool a_is_none = std::isnan(score[a]), b_is_none = std::isnan(score[b]);
    if (a_is_none != b_is_none) return a_is_none;
    return score[a] > score[b] || (!(score[a] < score[b]) && a < b);
  });
  std::sort(order.begin(), order.begin() + k);
  auto index = at::empty({k}, numbers.options().dtype(at::kLong));
  std::copy_n(order.begin(), k, index.mutable_data_ptr<int64_t>());
  return index;
}

// The same where the scores are, by one launch.
at::Tensor largest_on_gpu(const at::Tensor& scores, int64_t k) {
  const auto numbers = scores.to(at::kDouble).contiguous();
  auto index = at::empty({k}, numbers.options().dtype(at::kLong));
  start<LargestArgs>(
      {numbers.numel(), k, numbers.const_data_ptr<double>(), index.mutable_data_ptr<int64_t>()},
      scores.device());
  return index;
}

}  // namespace

at::Tensor largest(const at::Tensor& scores, int64_t k, Choosing how) {
  if (how != Choosing::kTensors && scores.is_cpu()) return largest_here(scores, k);
  if (how != Choosing::kTensors && can_start<LargestArgs>(scores.device()) &&
      scores.numel() <= kMostScores) {
    return largest_on_gpu(scores, k);
  }
  const auto order = std::get<1>(scores.sort(/*stable=*/true, 0, /*descending=*/true));
  return std::get<0>(order.narrow(0, 0, k).sort());
}

}  // namespace approx
