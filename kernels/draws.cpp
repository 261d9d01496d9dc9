#include "kernels/draws.h"

#include <ATen/Parallel.h>
#include <ATen/ops/empty.h>

namespace approx {

at::Tensor uniform_draws(const Rng& rng, at::IntArrayRef sizes, at::Device device) {
  auto draws = at::empty(sizes, at::TensorOptions().dtype(at::kFloat));
  auto* out = draws.mutable_data_ptr<float>();
  const int64_t count = draws.numel();
  constexpr int64_t kGrain = 4096;  // blocks of four worth waking another thread for
  at::parallel_for(0, (count + 3) / 4, kGrain, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const auto words = rng.block(static_cast<uint32_t>(i));
      for (int64_t j = 0; j < 4 && 4 * i + j < count; ++j) {
        out[4 * i + j] = Rng::uniform(words[static_cast<size_t>(j)]);
      }
    }
  });
  return draws.to(device);
}

}  // namespace approx
