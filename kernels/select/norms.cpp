#include <ATen/Parallel.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/linalg_vector_norm.h>

#include "kernels/select/select.h"
#include "kernels/select/squares.h"

namespace approx {
namespace {

at::Tensor norms_by_tensors(const at::Tensor& tensor, int64_t dim) {
  const auto type = tensor.scalar_type() == at::kDouble ? at::kDouble : at::kFloat;
  return at::linalg_vector_norm(tensor, 2, at::IntArrayRef{1 - dim, 2, 3}, /*keepdim=*/false, type)
      .to(at::kDouble);
}

}  // namespace

at::Tensor slice_norms(const at::Tensor& tensor, int64_t dim, Choosing how) {
  if (how == Choosing::kTensors || !tensor.is_cpu() || tensor.scalar_type() != at::kFloat ||
      tensor.numel() == 0) {
    return norms_by_tensors(tensor, dim);
  }
  const bool fastest = how == Choosing::kFastest;
  const auto source = tensor.contiguous(at::MemoryFormat::ChannelsLast);
  const auto plain = source.options().memory_format(at::MemoryFormat::Contiguous);
  const auto* data = source.const_data_ptr<float>();
  constexpr int64_t kGrain = 1 << 15;  // numbers worth waking another thread for
  if (dim == 0) {
    const Matrix m{data, tensor.size(0), tensor.numel() / tensor.size(0)};
    auto sum = at::empty({m.rows}, plain);
    const auto loop = fastest ? row_squares_simd : row_squares_reference;
    auto* to = sum.mutable_data_ptr<float>();
    at::parallel_for(0, m.rows, std::max<int64_t>(1, kGrain / m.columns),
                     [&](int64_t begin, int64_t end) { loop(m, to, begin, end); });
    return sum.to(at::kDouble).sqrt_();
  }
  const Matrix m{data, tensor.numel() / tensor.size(1), tensor.size(1)};
  const int64_t blocks = RowBlocks(m).count;
  auto sum = at::empty({blocks, m.columns}, plain);
  const auto loop = fastest ? column_squares_simd : column_squares_reference;
  auto* to = sum.mutable_data_ptr<float>();
  at::parallel_for(0, blocks, 1, [&](int64_t begin, int64_t end) { loop(m, to, begin, end); });
  return sum.sum(0, /*keepdim=*/false, at::kDouble).sqrt_();
}

}  // namespace approx
