#include "results/records/lossy_data.h"

#include <fmt/format.h>

namespace approx {

std::set<std::string> lossy_datasets(SQLite::Database& db, const std::string& experiment) {
  std::set<std::string> datasets;
  for_each_row(
      db,
      "SELECT DISTINCT d.name FROM dataset d JOIN run r USING(dataset_id) WHERE d.lossy AND "
      "r.state IN ('finished', 'diverged') AND (?1 = '' OR r.cell_id IN (SELECT m.cell_id FROM "
      "experiment_cell m JOIN experiment e USING(experiment_id) WHERE e.name = ?1))",
      [&](SQLite::Statement& row) { datasets.insert(text_at(row, 0)); }, experiment);
  return datasets;
}

std::string lossy_note(const std::set<std::string>& datasets) {
  if (datasets.empty()) return "";
  return fmt::format("lossy data: the images of {} went through JPEG", fmt::join(datasets, ", "));
}

}  // namespace approx
