#include "results/reports/members.h"

#include <filesystem>
#include <vector>

#include "core/experiment/grid.h"
#include "results/store/database.h"
#include "results/store/held_out.h"

namespace approx {

std::function<std::string(const std::string& dataset)> stored_checksums(const std::string& path) {
  std::map<std::string, std::string> newest;
  if (std::filesystem::exists(path)) {
    auto db = open_snapshot(path);
    for_each_row(db, "SELECT name, sha256 FROM dataset ORDER BY dataset_id",
                 [&](SQLite::Statement& row) { newest[text_at(row, 0)] = text_at(row, 1); });
  }
  return [newest](const std::string& dataset) {
    const auto found = newest.find(dataset);
    return found == newest.end() ? std::string() : found->second;
  };
}

StoredPlans::StoredPlans(const std::string& path)
    : checksums_(stored_checksums(path)), accuracies_(stored_accuracy(path)) {
  if (!std::filesystem::exists(path)) return;
  auto db = open_snapshot(path);
  for_each_row(db,
               "SELECT min(device) = 'cuda' FROM cell WHERE cell_id IN (SELECT cell_id FROM run "
               "WHERE state IN ('finished', 'diverged'))",
               [&](SQLite::Statement& row) { on_gpu_ = row.getColumn(0).getInt() == 1; });
}

void StoredPlans::plan(Experiment& item, const Catalogue& catalogue) const {
  if (auto* trainings = std::get_if<Trainings>(&item.work); trainings != nullptr && on_gpu_) {
    for (auto& run : trainings->runs) {
      if (!run.excluded.empty() || run.config.device == DeviceKind::kCuda) continue;
      run.config.device = DeviceKind::kCuda;
      set_keys(run, checksums_(run.config.dataset), catalogue);
    }
  }
  if (item.tuning) take_tuned_rates(item, accuracies_, catalogue, checksums_);
}

Members members_of(const Experiment& item, const std::string& path, const Catalogue* catalogue) {
  Members members;
  std::vector<int64_t> threads;
  if (catalogue != nullptr && std::filesystem::exists(path)) {
    auto db = open_snapshot(path);
    for_each_row(db, "SELECT DISTINCT threads FROM cell ORDER BY threads",
                 [&](SQLite::Statement& row) { threads.push_back(row.getColumn(0).getInt64()); });
  }
  const auto checksum = stored_checksums(path);
  for (const auto& run : item.runs()) {
    if (!run.excluded.empty()) continue;
    PlannedRun on = run;
    const auto add = [&] {
      members.emplace(on.key, &run);
      for (const auto& key : on.earlier_keys) members.emplace(key, &run);
    };
    add();
    if (!run.threads_of_machine) continue;
    for (const int64_t count : threads) {
      on.config.threads = count;
      set_keys(on, checksum(on.config.dataset), *catalogue);
      add();
    }
  }
  return members;
}

}  // namespace approx
