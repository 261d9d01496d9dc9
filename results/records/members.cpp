#include "results/records/members.h"

#include <filesystem>

#include "core/experiment/grid.h"
#include "results/store/database.h"

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

std::vector<int64_t> stored_threads(const std::string& path) {
  std::vector<int64_t> threads;
  if (!std::filesystem::exists(path)) return threads;
  auto db = open_snapshot(path);
  for_each_row(db, "SELECT DISTINCT threads FROM cell ORDER BY threads",
               [&](SQLite::Statement& row) { threads.push_back(row.getColumn(0).getInt64()); });
  return threads;
}

Members members_of(const Experiment& item, const std::string& path, const Catalogue* catalogue) {
  const auto threads = catalogue == nullptr ? std::vector<int64_t>() : stored_threads(path);
  return members_of(item, threads, stored_checksums(path), catalogue);
}

Members members_of(const Experiment& item, const std::vector<int64_t>& threads,
                   const std::function<std::string(const std::string& dataset)>& checksum,
                   const Catalogue* catalogue) {
  Members members;
  for (const auto& run : item.runs()) {
    if (!run.excluded.empty()) continue;
    PlannedRun on = run;
    const auto add = [&] {
      members.emplace(on.key, &run);
      for (const auto& key : on.earlier_keys) members.emplace(key, &run);
    };
    add();
    if (!run.threads_of_machine || catalogue == nullptr) continue;
    for (const int64_t count : threads) {
      on.config.threads = count;
      set_keys(on, checksum(on.config.dataset), *catalogue);
      add();
    }
  }
  return members;
}

}  // namespace approx
