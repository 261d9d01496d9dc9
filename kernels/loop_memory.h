// Tensors as the loops of a variant take them, and their result as a tensor again.
#pragma once

#include <ATen/Parallel.h>
#include <ATen/core/Tensor.h>
#include <ATen/ops/empty.h>

#include <algorithm>
#include <vector>

#include "kernels/operands.h"
#include "kernels/variant.h"

namespace approx {

// Memory on the CPU in the precision `Real`, channels last. A tensor that is so already is not
// copied. Pointers hold as long as the object.
template <typename Real>
class LoopMemory {
 public:
  explicit LoopMemory(const Operands& operands)
      : problem_(problem_of(operands)), like_(operands.w) {}

  const Problem& problem() const { return problem_; }

  // A tensor of four dimensions; null for an undefined one.
  const Real* read(const at::Tensor& tensor) {
    if (!tensor.defined()) return nullptr;
    kept_.push_back(tensor.to(at::kCPU, kType).contiguous(at::MemoryFormat::ChannelsLast));
    return kept_.back().template const_data_ptr<Real>();
  }

  // The operands that the product has, and room for its result.
  Arrays<Real> arrays(const at::Tensor& x, const at::Tensor& w, const at::Tensor& dy) {
    Arrays<Real> arrays{.problem = problem_};
    if (problem_.product != Product::kDataGradient) arrays.x = read(x);
    if (problem_.product != Product::kWeightGradient) arrays.w = read(w);
    if (problem_.product != Product::kForward) arrays.dy = read(dy);
    arrays.out = result();
    return arrays;
  }

  Real* result() {
    result_ =
        at::empty(result_sizes(problem_),
                  at::TensorOptions().dtype(kType).memory_format(at::MemoryFormat::ChannelsLast));
    return result_.template mutable_data_ptr<Real>();
  }

  // The result on the device and in the precision of the operands.
  at::Tensor finished() const { return result_.to(like_.device(), like_.scalar_type()); }

 private:
  static constexpr auto kType = c10::CppTypeToScalarType<Real>::value;

  Problem problem_;
  at::Tensor like_;
  std::vector<at::Tensor> kept_;
  at::Tensor result_;
};

// Calls the loop for all slices, on as many threads as there are.
template <typename Plan, typename Real>
void in_parallel(Loop<Plan, Real> loop, const Arguments<Plan, Real>& args) {
  at::parallel_for(0, args.problem.slices(), 1,
                   [&](int64_t begin, int64_t end) { loop(args, begin, end); });
}

}  // namespace approx
