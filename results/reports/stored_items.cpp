#include "results/reports/stored_items.h"

#include <filesystem>

#include "results/reports/contents.h"
#include "results/reports/rows.h"

namespace approx {

std::map<std::string, StoredItem> stored_items(const std::string& path) {
  std::map<std::string, StoredItem> items;
  if (!std::filesystem::exists(path)) return items;
  auto db = open_snapshot(path);
  for_each_row(db,
               "SELECT e.name, count(m.cell_id), count(CASE WHEN EXISTS(SELECT 1 FROM run r WHERE "
               "r.cell_id = m.cell_id AND r.state IN ('finished', 'diverged')) THEN 1 END) FROM "
               "experiment e LEFT JOIN experiment_cell m USING(experiment_id) GROUP BY e.name",
               [&](SQLite::Statement& row) {
                 auto& item = items[text_at(row, 0)];
                 item.planned = row.getColumn(1).getInt64();
                 item.finished = row.getColumn(2).getInt64();
               });
  for_each_row(db,
               "SELECT experiment, count(*) FROM (SELECT experiment FROM study_run UNION ALL "
               "SELECT experiment FROM kernel_run) WHERE experiment <> '' GROUP BY experiment",
               [&](SQLite::Statement& row) {
                 items[text_at(row, 0)].item_results = row.getColumn(1).getInt64();
               });
  return items;
}

Scale most_measured(const Experiment& layout, const std::map<std::string, StoredItem>& stored) {
  Scale best = Scale::kFull;
  int64_t most = 0;
  for (const auto scale : layout.scales) {
    const auto id =
        scale == Scale::kFull ? layout.item : fmt::format("{}:{}", layout.item, name(scale));
    const auto found = stored.find(id);
    if (found == stored.end() || (scale == Scale::kSmoke && most > 0)) continue;
    const int64_t results = found->second.finished + found->second.item_results;
    if (results > most) best = scale, most = results;
  }
  return best;
}

std::map<LabelKey, double> stored_speedups(const std::string& db, const std::string& experiment) {
  std::map<LabelKey, double> speedups;
  if (!stored_items(db).contains(experiment)) return speedups;
  const RowSet set(db, {.experiment = experiment});
  for (const auto& row : set.rows()) {
    if (row.speedup.n == 0 || row.dense == &row) continue;
    const Cell& cell = *row.first;
    speedups[{cell.method_label, cell.schedule_label, cell.network_label}] = row.speedup.ratio;
  }
  return speedups;
}

}  // namespace approx
