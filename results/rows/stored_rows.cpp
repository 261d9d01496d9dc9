#include "results/rows/stored_rows.h"

#include <cmath>
#include <optional>

#include "base/params.h"
#include "results/records/items.h"
#include "results/rows/rows.h"

namespace approx {
namespace {

// What is left of a product: the entries of a pruned gradient that stayed, or, where none was
// pruned, as under a sampling method, the pairs that were taken. Nothing for one that came out
// exact.
std::optional<double> share_left(const LayerCount& count) {
  if (count.density) return count.density;
  if (count.macs_done >= count.macs_dense) return std::nullopt;
  return static_cast<double>(count.macs_done) / static_cast<double>(count.macs_dense);
}

// Over the products that its runs approximated by the row's own method, weighted by their work.
std::optional<double> density_of(const Row& row) {
  const std::string method = parse_spec(row.first->method).name;
  double kept = 0, all = 0;
  for (const auto& [cell, run] : runs_of(row, std::nullopt)) {
    for (const auto& count : run->measured->layers) {
      if (is_dense(count.method) || parse_spec(count.method).name != method) continue;
      const auto share = share_left(count);
      if (!share) continue;
      kept += *share * static_cast<double>(count.macs_dense);
      all += static_cast<double>(count.macs_dense);
    }
  }
  return all > 0 ? std::optional(kept / all) : std::nullopt;
}

// As the last evaluation of one of its trainings counts them.
std::optional<int64_t> steps_per_epoch(const Row& row) {
  for (const auto& [cell, run] : accuracy_runs(row, /*diverged=*/false)) {
    const auto& tests = run->measured->evaluations("test");
    if (tests.empty() || tests.back().epoch <= 0) continue;
    return std::llround(static_cast<double>(tests.back().step) / tests.back().epoch);
  }
  return std::nullopt;
}

}  // namespace

StoredRows stored_rows(const Snapshot& snapshot, const std::string& experiment) {
  StoredRows stored;
  if (!snapshot.items().has(experiment)) return stored;
  const RowSet set(snapshot, {.experiment = experiment});
  for (const auto& row : set.rows()) {
    if (row.dense == &row) continue;
    const Cell& cell = *row.first;
    const LabelKey key{cell.method_label, cell.schedule_label, cell.network_label};
    if (row.speedup.n >= kProcessesForATiming) {
      stored.speedups[key] = row.speedup.least();
    } else if (row.speedup.n > 0) {
      stored.timed_in_few[key] = row.speedup.n;
    }
    if (row.speedup.n == 0 && row.notes[kTainted]) stored.disturbed.insert(key);
    if (const auto steps = steps_per_epoch(row)) stored.steps_per_epoch[key] = *steps;
    if (const auto density = density_of(row)) stored.densities[key] = *density;
  }
  return stored;
}

}  // namespace approx
