#include "results/records/stored_items.h"

#include <algorithm>
#include <cmath>
#include <filesystem>

#include "base/params.h"
#include "results/records/contents.h"
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
std::optional<double> density_of(const RowSet& set, const Row& row) {
  const std::string method = parse_spec(row.first->method).name;
  double kept = 0, all = 0;
  for (const auto* cell : row.cells) {
    const Run* run = cell->run();
    if (run == nullptr || !run->finished()) continue;
    const auto counts = set.contents().layers.find(run->run_id);
    if (counts == set.contents().layers.end()) continue;
    for (const auto& count : counts->second) {
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
std::optional<int64_t> steps_per_epoch(const RowSet& set, const Row& row) {
  for (const auto& [cell, run] : accuracy_runs(row, /*diverged=*/false)) {
    const auto& tests = set.evaluations(*run, "test");
    if (tests.empty() || tests.back().epoch <= 0) continue;
    return std::llround(static_cast<double>(tests.back().step) / tests.back().epoch);
  }
  return std::nullopt;
}

std::set<Purpose> planned_purposes(const Experiment& item) {
  std::set<Purpose> purposes;
  for (const auto& run : item.runs()) purposes.insert(run.config.purpose);
  return purposes;
}

}  // namespace

std::map<std::string, StoredItem> stored_items(const std::string& path) {
  std::map<std::string, StoredItem> items;
  if (!std::filesystem::exists(path)) return items;
  auto db = open_snapshot(path);
  for_each_row(db,
               "SELECT e.name, c.purpose, count(c.cell_id), count(CASE WHEN EXISTS(SELECT 1 FROM "
               "run r WHERE r.cell_id = c.cell_id AND r.state IN ('finished', 'diverged')) THEN 1 "
               "END) FROM experiment e LEFT JOIN experiment_cell m USING(experiment_id) LEFT JOIN "
               "cell c USING(cell_id) GROUP BY e.name, c.purpose",
               [&](SQLite::Statement& row) {
                 auto& item = items[text_at(row, 0)];
                 item.planned += row.getColumn(2).getInt64();
                 const int64_t finished = row.getColumn(3).getInt64();
                 if (finished > 0) item.finished[parse_purpose(text_at(row, 1))] = finished;
               });
  for_each_row(
      db,
      "SELECT DISTINCT e.name, c.run_key FROM experiment e JOIN experiment_cell m "
      "USING(experiment_id) JOIN cell c USING(cell_id) JOIN run r USING(cell_id) WHERE "
      "r.state IN ('finished', 'diverged')",
      [&](SQLite::Statement& row) { items[text_at(row, 0)].keys.insert(text_at(row, 1)); });
  for_each_row(db,
               "SELECT experiment, count(*) FROM (SELECT experiment FROM study_run UNION ALL "
               "SELECT experiment FROM kernel_run) WHERE experiment <> '' GROUP BY experiment",
               [&](SQLite::Statement& row) {
                 items[text_at(row, 0)].item_results = row.getColumn(1).getInt64();
               });
  return items;
}

int64_t StoredItem::all_finished() const {
  int64_t all = 0;
  for (const auto& [purpose, count] : finished) all += count;
  return all;
}

bool has_result(const std::map<std::string, StoredItem>& stored, const std::string& key) {
  return std::any_of(stored.begin(), stored.end(),
                     [&](const auto& item) { return item.second.keys.contains(key); });
}

int64_t finished_runs(const Experiment& item, const std::map<std::string, StoredItem>& stored) {
  const auto own = stored.find(item.id);
  int64_t count = 0;
  if (own != stored.end()) {
    for (const auto purpose : planned_purposes(item)) {
      const auto found = own->second.finished.find(purpose);
      if (found != own->second.finished.end()) count += found->second;
    }
  }
  for (const auto& run : item.runs()) {
    const auto any_key = [&run](const auto& is) {
      return is(run.key) || std::any_of(run.earlier_keys.begin(), run.earlier_keys.end(), is);
    };
    const bool counted = own != stored.end() && any_key([&](const std::string& key) {
                           return own->second.keys.contains(key);
                         });
    if (counted || !run.excluded.empty()) continue;
    count += any_key([&](const std::string& key) { return has_result(stored, key); });
  }
  return count;
}

std::map<Purpose, int64_t> finished_beside(const Experiment& item,
                                           const std::map<std::string, StoredItem>& stored) {
  const auto own = stored.find(item.id);
  if (own == stored.end()) return {};
  auto beside = own->second.finished;
  for (const auto purpose : planned_purposes(item)) beside.erase(purpose);
  return beside;
}

Scale most_measured(const Experiment& layout, const ItemAtScale& at_scale,
                    const std::map<std::string, StoredItem>& stored) {
  Scale best = Scale::kFull;
  if (stored.empty()) return best;
  int64_t most = 0;
  for (const auto scale : layout.scales) {
    if (scale == Scale::kSmoke && most > 0) continue;
    const Experiment& item = at_scale(scale);
    int64_t results = finished_runs(item, stored);
    const auto own = stored.find(item.id);
    if (own != stored.end()) {
      results = std::max(results, own->second.all_finished() + own->second.item_results);
    }
    if (results > most) best = scale, most = results;
  }
  return best;
}

StoredRows stored_rows(const std::string& db, const std::string& experiment) {
  StoredRows stored;
  if (!stored_items(db).contains(experiment)) return stored;
  const RowSet set(db, {.experiment = experiment});
  for (const auto& row : set.rows()) {
    if (row.dense == &row) continue;
    const Cell& cell = *row.first;
    const LabelKey key{cell.method_label, cell.schedule_label, cell.network_label};
    if (row.speedup.n > 0) stored.speedups[key] = row.speedup.least();
    if (row.speedup.n == 0 && row.notes[kTainted]) stored.disturbed.insert(key);
    if (const auto steps = steps_per_epoch(set, row)) stored.steps_per_epoch[key] = *steps;
    if (const auto density = density_of(set, row)) stored.densities[key] = *density;
  }
  return stored;
}

}  // namespace approx
