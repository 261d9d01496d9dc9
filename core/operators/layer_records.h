// Records of layers of the Python package: by what they draw, and what they spent.
#pragma once

#include <ATen/core/Tensor.h>

#include <array>
#include <cstdint>
#include <memory>
#include <mutex>

#include "core/nn/slot.h"
#include "core/operators/known_method.h"

namespace approx {

struct LayerRecord {
  uint64_t seed = 0;
  uint32_t layer = 0;  // the number that keys draws
  uint32_t rank = 0;
  bool norm_follows = false;

  // By product. `exact_macs` are multiply-accumulates of the exact products, whoever computed them.
  std::array<UseCount, 3> use;
  std::array<double, 3> exact_macs{};

  // Counts the exact products of one call, each of `macs`. `computed` has a bit for each product.
  void count(double macs, int64_t computed, const LayerSlot& slot);
};

using Record = std::shared_ptr<LayerRecord>;

// Returns the number of a new record. It lives until it is dropped.
int64_t new_record(const LayerRecord& record);
void drop_record(int64_t number);
// Throws ValueError if there is none.
Record find_record(int64_t number);

// A layer's key is one int64 on the CPU, []: the number of its record and its step. A trace has a
// place for a tensor, where it would freeze numbers. PyTorch lets tensors of a GPU mix with a CPU
// tensor if it has no dimension.
struct LayerKey {
  static constexpr int kStepBits = 39;

  int64_t record = 0;
  uint64_t step = 0;

  static LayerKey of(int64_t number);
  int64_t number() const;
};

// The draws of one call of an operator: by a seed alone, or by a layer's record and step.
struct Draws {
  uint64_t seed = 0;
  uint64_t step = 0;
  Record record;  // null: by the seed alone

  uint32_t layer() const { return record == nullptr ? 0 : record->layer; }

  // The orders of this call. A layer's call counts in its record, which the slot does not keep
  // alive.
  LayerSlot slot_of(const KnownMethod& known) const;
};

// `number` is the value of an operator's `seed`: a layer's key if `is_key`.
Draws draws_of(int64_t number, bool is_key);

}  // namespace approx
