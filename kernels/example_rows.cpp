#include "kernels/example_rows.h"

#include <ATen/Parallel.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/index_select.h>
#include <ATen/ops/zeros.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <vector>

#include "kernels/numbers_of.h"

namespace approx {
namespace {

constexpr auto kRowsInMemory = at::MemoryFormat::ChannelsLast;

std::vector<int64_t> sizes_with(const at::Tensor& tensor, int64_t examples) {
  auto sizes = tensor.sizes().vec();
  sizes[0] = examples;
  return sizes;
}

// The bytes of one example, and how many examples are worth another thread.
struct Row {
  explicit Row(const at::Tensor& tensor)
      : bytes(static_cast<size_t>(tensor.size(1) * tensor.size(2) * tensor.size(3)) *
              tensor.element_size()),
        grain(static_cast<int64_t>(std::max<size_t>(1, (size_t{1} << 17) / (bytes + 1)))) {}

  size_t bytes;
  int64_t grain;
};

// The bits of a number's magnitude, which are zero for -0 too.
uint32_t magnitude_bits(float number) { return std::bit_cast<uint32_t>(number) & 0x7FFFFFFF; }
uint32_t magnitude_bits(BFloat16 number) { return number.bits & 0x7FFFU; }

// Whether any of `count` numbers is not zero. Stops at the first block that has one.
template <typename Number>
bool has_number(const Number* numbers, int64_t count) {
  constexpr int64_t kBlock = 256;
  for (int64_t begin = 0; begin < count; begin += kBlock) {
    uint32_t any = 0;
    const int64_t end = std::min(count, begin + kBlock);
    for (int64_t i = begin; i < end; ++i) any |= magnitude_bits(numbers[i]);
    if (any != 0) return true;
  }
  return false;
}

template <typename Number>
at::Tensor nonzero_by_loops(const at::Tensor& tensor) {
  const int64_t examples = tensor.size(0);
  const int64_t count = examples == 0 ? 0 : tensor.numel() / examples;
  const auto* numbers = numbers_of<Number>(tensor);
  auto has = at::empty({examples}, at::TensorOptions().dtype(at::kBool));
  auto* of_example = has.mutable_data_ptr<bool>();
  at::parallel_for(0, examples, Row(tensor).grain, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) of_example[i] = has_number(numbers + i * count, count);
  });
  return has.nonzero().flatten();
}

bool is_moved_by_loops(const at::Tensor& tensor, const at::Tensor& index) {
  return tensor.is_cpu() && index.is_cpu() && index.is_contiguous();
}

}  // namespace

at::Tensor take_examples(const at::Tensor& tensor, const at::Tensor& index) {
  if (!tensor.is_contiguous(kRowsInMemory)) {
    return at::index_select(tensor, 0, index).contiguous(kRowsInMemory);
  }
  if (!is_moved_by_loops(tensor, index)) {
    return at::index_select(tensor.permute({0, 2, 3, 1}), 0, index).permute({0, 3, 1, 2});
  }
  auto taken =
      at::empty(sizes_with(tensor, index.numel()), tensor.options().memory_format(kRowsInMemory));
  const Row row(tensor);
  const auto* which = index.const_data_ptr<int64_t>();
  const auto* from = static_cast<const char*>(tensor.const_data_ptr());
  auto* to = static_cast<char*>(taken.mutable_data_ptr());
  at::parallel_for(0, index.numel(), row.grain, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      std::memcpy(to + static_cast<size_t>(i) * row.bytes,
                  from + static_cast<size_t>(which[i]) * row.bytes, row.bytes);
    }
  });
  return taken;
}

at::Tensor put_examples(const at::Tensor& part, const at::Tensor& index, int64_t examples) {
  const auto source = part.contiguous(kRowsInMemory);
  if (!is_moved_by_loops(source, index)) {
    auto whole = at::zeros(sizes_with(part, examples), part.options().memory_format(kRowsInMemory));
    whole.permute({0, 2, 3, 1}).index_copy_(0, index, source.permute({0, 2, 3, 1}));
    return whole;
  }
  auto whole = at::empty(sizes_with(part, examples), part.options().memory_format(kRowsInMemory));
  const Row row(part);
  const auto* first = index.const_data_ptr<int64_t>();
  const auto* last = first + index.numel();
  const auto* from = static_cast<const char*>(source.const_data_ptr());
  auto* to = static_cast<char*>(whole.mutable_data_ptr());
  at::parallel_for(0, examples, row.grain, [&](int64_t begin, int64_t end) {
    const auto* next = std::lower_bound(first, last, begin);
    for (int64_t i = begin; i < end; ++i) {
      auto* place = to + static_cast<size_t>(i) * row.bytes;
      if (next != last && *next == i) {
        std::memcpy(place, from + static_cast<size_t>(next - first) * row.bytes, row.bytes);
        ++next;
      } else {
        std::memset(place, 0, row.bytes);
      }
    }
  });
  return whole;
}

at::Tensor nonzero_examples(const at::Tensor& tensor) {
  at::Tensor found;
  if (tensor.is_cpu() && tensor.is_contiguous(kRowsInMemory)) {
    of_two_types(tensor.scalar_type(),
                 [&]<typename Number>(Number) { found = nonzero_by_loops<Number>(tensor); });
  }
  return found.defined() ? found : tensor.ne(0).flatten(1).any(1).nonzero().flatten();
}

}  // namespace approx
