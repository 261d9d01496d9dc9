#include <ATen/Parallel.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/linalg_vector_norm.h>

#include <vector>

#include "kernels/gpu/kernel.h"
#include "kernels/gpu/start.h"
#include "kernels/long_sums.h"
#include "kernels/numbers_of.h"
#include "kernels/select/select.h"
#include "kernels/select/squares.h"

namespace approx {
namespace {

at::Tensor norms_by_tensors(const at::Tensor& tensor, int64_t dim) {
  return at::linalg_vector_norm(tensor, 2, at::IntArrayRef{1 - dim, 2, 3}, /*keepdim=*/false,
                                at::kDouble);
}

// Puts sums of squares in place that are not to be had in float, the rare case. Zeros beside
// columns that are no zeros may be squares that were lost, but to look at them all for that would
// be another read.
template <typename Number>
void take_columns_in_double(const Matrix<Number>& m, double* squares) {
  bool any_normal = false, any_other = false;
  for (int64_t c = 0; c < m.columns; ++c) {
    any_normal = any_normal || !needs_double(squares[c]);
    any_other = any_other || (needs_double(squares[c]) && squares[c] != 0);
  }
  if (any_normal && !any_other) return;
  std::vector<double> all(static_cast<size_t>(m.columns));
  column_squares_in_double(m, all.data());
  for (int64_t c = 0; c < m.columns; ++c) {
    if (needs_double(squares[c])) squares[c] = all[static_cast<size_t>(c)];
  }
}

// The same by loops over memory.
template <typename Number>
at::Tensor norms_by_loops(const at::Tensor& source, const Number* data, int64_t dim, bool fastest) {
  const auto floats =
      source.options().dtype(at::kFloat).memory_format(at::MemoryFormat::Contiguous);
  constexpr int64_t kGrain = 1 << 15;  // numbers worth waking another thread for
  if (dim == 0) {
    const Matrix<Number> m{data, source.size(0), source.numel() / source.size(0)};
    auto sum = at::empty({m.rows}, floats);
    auto* to = sum.template mutable_data_ptr<float>();
    at::parallel_for(
        0, m.rows, std::max<int64_t>(1, kGrain / m.columns), [&](int64_t begin, int64_t end) {
          fastest ? row_squares_simd(m, to, begin, end) : row_squares_reference(m, to, begin, end);
        });
    auto squares = sum.to(at::kDouble);
    auto* of_row = squares.template mutable_data_ptr<double>();
    for (int64_t r = 0; r < m.rows; ++r) {
      if (needs_double(of_row[r])) row_squares_in_double(m, of_row, r, r + 1);
    }
    return squares.sqrt_();
  }
  const Matrix<Number> m{data, source.numel() / source.size(1), source.size(1)};
  const int64_t blocks = RowBlocks(m).count;
  auto sum = at::empty({blocks, m.columns}, floats);
  auto* to = sum.template mutable_data_ptr<float>();
  at::parallel_for(0, blocks, 1, [&](int64_t begin, int64_t end) {
    fastest ? column_squares_simd(m, to, begin, end) : column_squares_reference(m, to, begin, end);
  });
  auto squares = sum.sum(0, /*keepdim=*/false, at::kDouble);
  take_columns_in_double(m, squares.template mutable_data_ptr<double>());
  return squares.sqrt_();
}

// The same by launches on its GPU.
template <typename Number>
at::Tensor norms_on_gpu(const at::Tensor& source, int64_t dim) {
  const bool of_rows = dim == 0;
  const int64_t rows = of_rows ? source.size(0) : source.numel() / source.size(1);
  const int64_t columns = source.numel() / rows;
  const auto numbers = at::TensorOptions().device(source.device());
  auto norms = at::empty({source.size(dim)}, numbers.dtype(at::kDouble));
  const auto partial =
      at::empty({of_rows ? 0 : sum_blocks(rows), columns}, numbers.dtype(at::kDouble));
  start<NormsOnGpu<Number>>({{numbers_of<Number>(source), rows, columns},
                             of_rows,
                             of_rows ? nullptr : partial.template mutable_data_ptr<double>(),
                             norms.template mutable_data_ptr<double>()},
                            source.device());
  return norms;
}

}  // namespace

at::Tensor slice_norms(const at::Tensor& tensor, int64_t dim, Choosing how) {
  if (how == Choosing::kTensors || tensor.numel() == 0) return norms_by_tensors(tensor, dim);
  const auto source = tensor.contiguous(at::MemoryFormat::ChannelsLast);
  at::Tensor norms;
  if (!tensor.is_cpu()) {
    of_three_types(tensor.scalar_type(), [&]<typename Number>(Number) {
      if (!can_start<NormsOnGpu<Number>>(tensor.device())) return;
      norms = norms_on_gpu<Number>(source, dim);
    });
    return norms.defined() ? norms : norms_by_tensors(tensor, dim);
  }
  const bool fastest = how == Choosing::kFastest;
  const bool loops = of_two_types(tensor.scalar_type(), [&]<typename Number>(Number) {
    norms = norms_by_loops(source, numbers_of<Number>(source), dim, fastest);
  });
  return loops ? norms : norms_by_tensors(tensor, dim);
}

}  // namespace approx
