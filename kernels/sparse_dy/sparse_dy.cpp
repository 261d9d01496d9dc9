#include "kernels/sparse_dy/sparse_dy.h"

#include <ATen/ops/arange.h>
#include <ATen/ops/repeat_interleave.h>
#include <ATen/ops/zeros.h>

#include <cassert>
#include <optional>

#include "kernels/kernel.h"
#include "kernels/loop_memory.h"
#include "kernels/plan.h"

namespace approx {

SparseDY SparseDY::from_topk(const at::Tensor& position, const at::Tensor& value) {
  const int64_t rows = position.size(0) * position.size(1), k = position.size(2);
  return {at::arange(0, rows * k + 1, std::max<int64_t>(k, 1), position.options().dtype(at::kLong)),
          position.to(at::kInt).flatten().contiguous(),
          value.to(at::kFloat).flatten().contiguous()};
}

at::Tensor SparseDY::densified(const at::Tensor& dy) const {
  const int64_t plane = dy.size(2) * dy.size(3);
  auto dense = at::zeros({dy.size(0) * dy.size(1), plane}, value.options());
  // [entries]: the row of each entry. (Told how many there are, it asks no device for their sum.)
  const std::optional<int64_t> entries = position.numel();
  const auto row = at::repeat_interleave(row_start.diff(), entries);
  dense.index_put_({row, position.to(at::kLong)}, value);
  return dense.view(dy.sizes()).to(dy.scalar_type()).contiguous(dy.suggest_memory_format());
}

template <typename Real>
at::Tensor Arguments<SparseDY, Real>::run(const Work<SparseDY, Real>& work, const SparseDY& plan,
                                          const Operands& o) {
  LoopMemory<Real> memory(o, place_of(work, o));
  Arguments args{memory.arrays(o.x, o.w, {})};
  const c10::Device place = memory.place();
  const auto row_start = plan.row_start.to(place).contiguous();
  const auto position = plan.position.to(place), value = plan.value.to(place);
  assert(row_start.numel() == args.problem.n * args.problem.co + 1);
  args.row_start = row_start.const_data_ptr<int64_t>();
  args.position = position.const_data_ptr<int32_t>();
  args.value = value.template const_data_ptr<float>();
  complete<SparseDY, Real>(work, args, memory.place());
  return memory.finished();
}

template struct Arguments<SparseDY, float>;
template struct Arguments<SparseDY, double>;
template struct Arguments<SparseDY, BFloat16>;
template struct Arguments<SparseDY, Float16>;

namespace {

// Any product, device and precision: the exact product of the sparse dY written out.
at::Tensor exact_product_of_densified(const SparseDY& plan, const Operands& o) {
  Operands sparse = o;
  sparse.dy = plan.densified(o.dy);
  return full_product(sparse);
}

REGISTER_KERNEL(SparseDY, "densify", exact_product_of_densified)
    .computes({Product::kDataGradient, Product::kWeightGradient})
    .rank(2);

}  // namespace
}  // namespace approx
