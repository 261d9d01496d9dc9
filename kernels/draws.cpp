#include "kernels/draws.h"

#include <ATen/Parallel.h>
#include <ATen/TensorOperators.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/argsort.h>
#include <ATen/ops/bitwise_and.h>
#include <ATen/ops/bitwise_left_shift.h>
#include <ATen/ops/bitwise_or.h>
#include <ATen/ops/bitwise_right_shift.h>
#include <ATen/ops/bitwise_xor.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/from_blob.h>
#include <ATen/ops/full.h>
#include <ATen/ops/narrow.h>
#include <ATen/ops/sort.h>
#include <ATen/ops/stack.h>

#include <algorithm>

#include "kernels/gpu/start.h"
#include "kernels/gpu/uniform_args.h"
#include "kernels/select/uniform.h"

namespace approx {

at::Tensor uniform_draws(const Rng& rng, at::IntArrayRef sizes, at::Device device) {
  const int64_t count = c10::multiply_integers(sizes), blocks = (count + 3) / 4;
  if (can_start<UniformArgs>(device)) {
    auto draws = at::empty(sizes, at::TensorOptions().dtype(at::kFloat).device(device));
    start<UniformArgs>({count, draws.mutable_data_ptr<float>(), rng}, device);
    return draws;
  }
  if (!device.is_cpu()) {
    const auto all = as_uniform(random_words(rng, blocks, device)).flatten();
    return all.narrow(0, 0, count).view(sizes);
  }
  auto draws = at::empty(sizes, at::TensorOptions().dtype(at::kFloat));
  auto* out = draws.mutable_data_ptr<float>();
  constexpr int64_t kGrain = 4096;  // blocks of four worth waking another thread for
  at::parallel_for(0, blocks, kGrain, [&](int64_t begin, int64_t end) {
    fill_uniform(rng, 4 * begin, std::min(4 * end, count) - 4 * begin, out + 4 * begin);
  });
  return draws;
}

namespace {

// Exact in a double: 52 bits, the half between two of them, and a power of two.
constexpr double kFineStep = 0x1p-52;

double fine_uniform(uint32_t high, uint32_t low) {
  const uint64_t bits = (uint64_t{high} << 20) | (low >> 12);
  return (static_cast<double>(bits) + 0.5) * kFineStep;
}

at::Tensor fine_draws(const Rng& rng, at::IntArrayRef sizes, at::Device device) {
  const int64_t count = c10::multiply_integers(sizes), blocks = (count + 1) / 2;
  if (!device.is_cpu()) {
    return as_fine_uniform(random_words(rng, blocks, device)).narrow(0, 0, count).view(sizes);
  }
  auto draws = at::empty(sizes, at::TensorOptions().dtype(at::kDouble));
  auto* out = draws.mutable_data_ptr<double>();
  constexpr int64_t kGrain = 4096;  // blocks of four words worth waking another thread for
  at::parallel_for(0, blocks, kGrain, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const auto words = rng.block(static_cast<uint32_t>(i));
      out[2 * i] = fine_uniform(words[0], words[1]);
      if (2 * i + 1 < count) out[2 * i + 1] = fine_uniform(words[2], words[3]);
    }
  });
  return draws;
}

}  // namespace

at::Tensor draws_among(const Rng& rng, int64_t candidates, at::IntArrayRef sizes,
                       at::Device device) {
  return candidates < kManyCandidates ? uniform_draws(rng, sizes, device)
                                      : fine_draws(rng, sizes, device);
}

at::Tensor subset_draws(const Rng& rng, int64_t n, int64_t k, at::Device device) {
  const auto order = draws_among(rng, n, {n}, device).argsort(/*stable=*/true, 0);
  return std::get<0>(order.narrow(0, 0, k).sort());
}

// Philox::block on tensors. Words are int64: a product of two of them wraps modulo 2^64, its high
// word is the shifted product less the signs that the shift draws in, and its low word is not cut
// off before somebody multiplies by it.
at::Tensor random_words(const Rng& rng, int64_t blocks, at::Device device) {
  constexpr int64_t kWord = 0xFFFFFFFF;
  const auto options = at::TensorOptions().dtype(at::kLong).device(device);
  // The step that stands on the device is read there, by operations on tensors too.
  Rng host = rng;
  if (host.step_at != nullptr) host.step = 0, host.step_at = nullptr;
  const auto first = host.counter(0);
  const auto word = [&](size_t i) { return at::full({blocks}, int64_t{first[i]}, options); };
  const auto mixed = [](const at::Tensor& product, const at::Tensor& other, uint32_t key) {
    const auto high = at::bitwise_right_shift(product, 32);
    return at::bitwise_and(at::bitwise_xor(at::bitwise_xor(high, other), int64_t{key}), kWord);
  };
  at::Tensor c0 = at::arange(blocks, options), c1 = word(1), c2 = word(2), c3 = word(3);
  if (rng.step_at != nullptr) {
    const auto step = at::from_blob(const_cast<uint64_t*>(rng.step_at), {1}, options);
    c1 = at::bitwise_or(c1, at::bitwise_and(step, kWord));
    c3 = at::bitwise_or(c3, at::bitwise_right_shift(step, 32));
  }
  auto k0 = static_cast<uint32_t>(rng.seed), k1 = static_cast<uint32_t>(rng.seed >> 32);
  for (int round = 0; round < Philox::kRounds; ++round) {
    const auto p0 = c0 * int64_t{Philox::kMultiplier0}, p1 = c2 * int64_t{Philox::kMultiplier1};
    c0 = mixed(p1, c1, k0);
    c2 = mixed(p0, c3, k1);
    c1 = p1;
    c3 = p0;
    k0 += Philox::kWeyl0;
    k1 += Philox::kWeyl1;
  }
  return at::bitwise_and(at::stack({c0, c1, c2, c3}, 1), kWord);
}

// Exact: 23 bits, the half between two of them, and a power of two.
at::Tensor as_uniform(const at::Tensor& words) {
  return (at::bitwise_right_shift(words, 9).to(at::kFloat) + 0.5) * (1.0 / 8388608.0);
}

at::Tensor as_fine_uniform(const at::Tensor& words) {
  const auto pairs = words.reshape({-1, 2});
  const auto high = at::bitwise_left_shift(pairs.select(1, 0), 20);
  const auto low = at::bitwise_right_shift(pairs.select(1, 1), 12);
  return (at::bitwise_or(high, low).to(at::kDouble) + 0.5) * kFineStep;
}

}  // namespace approx
