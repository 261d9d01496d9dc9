#include "core/operators/layer_records.h"

#include <c10/util/Exception.h>

#include <map>

namespace approx {
namespace {

struct Records {
  std::mutex mutex;
  std::map<int64_t, Record> by_number;
  int64_t next = 1;
};

Records& records() {
  static Records all;
  return all;
}

}  // namespace

void LayerRecord::count(double macs, int64_t computed, const LayerSlot& slot) {
  for (size_t p = 0; p < exact_macs.size(); ++p) {
    if ((computed & (int64_t{1} << p)) == 0) continue;
    exact_macs[p] += macs;
    if (slot.orders.methods[p] != nullptr) use[p].dense_macs += macs;
  }
}

int64_t new_record(const LayerRecord& record) {
  auto& all = records();
  const std::lock_guard lock(all.mutex);
  all.by_number.emplace(all.next, std::make_shared<LayerRecord>(record));
  return all.next++;
}

void drop_record(int64_t number) {
  auto& all = records();
  const std::lock_guard lock(all.mutex);
  all.by_number.erase(number);
}

Record find_record(int64_t number) {
  auto& all = records();
  const std::lock_guard lock(all.mutex);
  const auto found = all.by_number.find(number);
  TORCH_CHECK_VALUE(found != all.by_number.end(), "approxtrain: no layer with number ", number,
                    ": it was removed before its backward pass");
  return found->second;
}

LayerKey LayerKey::of(int64_t number) {
  const auto bits = static_cast<uint64_t>(number);
  return {.record = static_cast<int64_t>(bits >> kStepBits),
          .step = bits & ((uint64_t{1} << kStepBits) - 1)};
}

int64_t LayerKey::number() const {
  return static_cast<int64_t>((static_cast<uint64_t>(record) << kStepBits) | step);
}

LayerSlot Draws::slot_of(const KnownMethod& known) const {
  LayerSlot slot = known.slot;
  slot.orders.seed = seed;
  if (record == nullptr) return slot;
  slot.orders.step = step;
  slot.orders.rank = record->rank;
  slot.orders.norm_follows = record->norm_follows;
  for (const auto product : known.products) {
    const auto p = static_cast<size_t>(product);
    slot.counts.use[p] = &record->use[p];
  }
  return slot;
}

Draws draws_of(int64_t number, bool is_key) {
  if (!is_key) return {.seed = static_cast<uint64_t>(number)};
  const auto key = LayerKey::of(number);
  auto record = find_record(key.record);
  return {.seed = record->seed, .step = key.step, .record = std::move(record)};
}

}  // namespace approx
