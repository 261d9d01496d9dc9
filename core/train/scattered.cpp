#include "core/train/scattered.h"

#include <ATen/ops/zeros.h>

#include <bit>
#include <cmath>

namespace approx {
namespace {

// From step to step the number changes a little. What does not fit is sent a second time, whole.
constexpr double kSpare = 1.125;
constexpr int64_t kLeastSpare = 16;

}  // namespace

int64_t scattered_room(double expected, int64_t entries, int64_t ranks) {
  if (!(expected > 0)) return 0;
  const auto room = static_cast<int64_t>(std::ceil(expected * kSpare)) + kLeastSpare;
  return (1 + 2 * room) * ranks < 2 * entries ? room : 0;
}

int64_t nonzero_entries(const at::Tensor& flat) {
  const auto* values = flat.const_data_ptr<float>();
  int64_t count = 0;
  for (int64_t i = 0; i < flat.numel(); ++i) count += values[i] != 0;
  return count;
}

at::Tensor packed_scattered(const at::Tensor& flat, int64_t room) {
  auto packed = at::zeros({1 + 2 * room}, at::kInt);
  const auto* values = flat.const_data_ptr<float>();
  auto* positions = packed.mutable_data_ptr<int32_t>() + 1;
  auto* bits = positions + room;
  int64_t count = 0;
  for (int64_t i = 0; i < flat.numel(); ++i) {
    if (values[i] == 0) continue;
    if (count < room) {
      positions[count] = static_cast<int32_t>(i);
      bits[count] = std::bit_cast<int32_t>(values[i]);
    }
    ++count;
  }
  packed.mutable_data_ptr<int32_t>()[0] = static_cast<int32_t>(count);
  return packed;
}

bool sum_scattered(const at::Tensor& all, const at::Tensor& flat) {
  const int64_t ranks = all.size(0), room = (all.size(1) - 1) / 2;
  const auto* first = all.const_data_ptr<int32_t>();
  const auto of_rank = [&](int64_t rank) { return first + rank * all.size(1); };
  for (int64_t rank = 0; rank < ranks; ++rank) {
    if (of_rank(rank)[0] > room) return false;
  }
  flat.zero_();
  auto* sums = flat.mutable_data_ptr<float>();
  for (int64_t rank = 0; rank < ranks; ++rank) {
    const auto* positions = of_rank(rank) + 1;
    const auto* bits = positions + room;
    for (int32_t i = 0; i < of_rank(rank)[0]; ++i) {
      sums[positions[i]] += std::bit_cast<float>(bits[i]);
    }
  }
  return true;
}

}  // namespace approx
