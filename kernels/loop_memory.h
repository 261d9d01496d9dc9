// Converts tensors to plain memory for the loops of a variant, and their result back to a tensor.
#pragma once

#include <ATen/Parallel.h>
#include <ATen/core/Tensor.h>
#include <ATen/ops/empty.h>

#include <algorithm>
#include <atomic>
#include <functional>
#include <vector>

#include "kernels/gpu/scratch.h"
#include "kernels/gpu/start.h"
#include "kernels/numbers_of.h"
#include "kernels/operands.h"
#include "kernels/variant.h"

namespace approx {

// The device on which the work needs its operands: the CPU for a loop, the operands' own device for
// a launch.
template <typename Plan, typename Real>
c10::Device place_of(const Work<Plan, Real>& work, const Operands& operands) {
  return work.launch != nullptr ? operands.w.device() : c10::Device(c10::kCPU);
}

// Memory in the precision `Real` at `place`, channels last. A tensor that already has that form is
// not copied. Pointers are valid as long as the object.
template <typename Real>
class LoopMemory {
 public:
  LoopMemory(const Operands& operands, c10::Device place)
      : problem_(problem_of(operands)), like_(operands.w), place_(place) {}

  const Problem& problem() const { return problem_; }
  c10::Device place() const { return place_; }

  // The memory of a tensor with four dimensions; null for an undefined one.
  const Real* read(const at::Tensor& tensor) {
    if (!tensor.defined()) return nullptr;
    kept_.push_back(tensor.to(place_, kType).contiguous(at::MemoryFormat::ChannelsLast));
    return numbers_of<Real>(kept_.back());
  }

  // The operands that the product has, and memory for its result.
  Arrays<Real> arrays(const at::Tensor& x, const at::Tensor& w, const at::Tensor& dy) {
    Arrays<Real> arrays{.problem = problem_};
    if (problem_.product != Product::kDataGradient) arrays.x = read(x);
    if (problem_.product != Product::kWeightGradient) arrays.w = read(w);
    if (problem_.product != Product::kForward) arrays.dy = read(dy);
    arrays.out = result();
    return arrays;
  }

  Real* result() {
    result_ = at::empty(result_sizes(problem_),
                        at::TensorOptions().dtype(kType).device(place_).memory_format(
                            at::MemoryFormat::ChannelsLast));
    return mutable_numbers_of<Real>(result_);
  }

  // The result, on the device and in the precision of the operands.
  at::Tensor finished() const { return result_.to(like_.device(), like_.scalar_type()); }

 private:
  static constexpr auto kType = kElements<Real>;

  Problem problem_;
  at::Tensor like_;
  c10::Device place_;
  std::vector<at::Tensor> kept_;
  at::Tensor result_;
};

// Memory from LibTorch at a place, kept until the object ends. LibTorch's allocator does not give
// it to others while work that was started before may still use it.
class TensorScratch final : public GpuScratch {
 public:
  explicit TensorScratch(c10::Device place) : place_(place) {}

 private:
  void* bytes(int64_t count) override {
    kept_.push_back(at::empty({count}, at::TensorOptions().dtype(at::kByte).device(place_)));
    return kept_.back().mutable_data_ptr();
  }

  c10::Device place_;
  std::vector<at::Tensor> kept_;
};

// LibTorch's threads. They take items one by one, since on a shared machine some are slow at times.
class ThreadTeam : public Team {
 public:
  void share(int64_t items, const std::function<void(int64_t item)>& work) const override {
    std::atomic<int64_t> next = 0;
    const int64_t threads = std::min<int64_t>(items, at::get_num_threads());
    at::parallel_for(0, threads, 1, [&](int64_t begin, int64_t end) {
      for (int64_t thread = begin; thread < end; ++thread) {
        for (int64_t item = next++; item < items; item = next++) work(item);
      }
    });
  }
};

// Executes the work at `place`: a launch, or loops on all available threads.
template <typename Plan, typename Real>
void complete(const Work<Plan, Real>& work, const Arguments<Plan, Real>& args, c10::Device place) {
  if (work.launch != nullptr) return start<Arguments<Plan, Real>>(work.launch, args, place);
  if (work.whole != nullptr) return work.whole(args, ThreadTeam());
  at::parallel_for(0, args.problem.slices(), 1,
                   [&](int64_t begin, int64_t end) { work.loop(args, begin, end); });
}

}  // namespace approx
