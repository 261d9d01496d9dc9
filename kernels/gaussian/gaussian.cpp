#include "kernels/gaussian/gaussian.h"

#include <ATen/Parallel.h>
#include <ATen/TensorOperators.h>
#include <ATen/ops/empty.h>

#include "kernels/loop_memory.h"
#include "kernels/operands.h"
#include "kernels/plan.h"

namespace approx {

at::Tensor GaussianArgs::run(const Work<Gaussian, float>& work, const Gaussian& plan,
                             const Operands& o) {
  // Drawn in float, by a loop on the CPU and moved, so that every device and precision gets the
  // same numbers.
  const auto place = place_of(work, o);
  auto draws = at::empty(o.w.sizes(), at::TensorOptions().dtype(at::kFloat).device(place));
  const int64_t count = draws.numel();
  const GaussianArgs args{static_cast<float>(plan.mean), static_cast<float>(plan.stddev), plan.rng,
                          draws.mutable_data_ptr<float>(), count};
  if (work.launch != nullptr) {
    start<Arguments<Gaussian, float>>(work.launch, args, place);
  } else {
    constexpr int64_t kGrain = int64_t{16} * 1024;  // numbers worth waking another thread for
    at::parallel_for(0, (count + 3) / 4, kGrain / 4, [&](int64_t begin, int64_t end) {
      work.loop(args, 4 * begin, std::min(4 * end, count));
    });
  }
  auto there = draws.to(o.w.device());
  if (plan.factor.defined()) there = there * plan.factor;
  return there.to(o.w.scalar_type());
}

}  // namespace approx
