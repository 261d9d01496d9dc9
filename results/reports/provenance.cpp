#include "results/reports/provenance.h"

namespace approx {

std::vector<std::pair<std::string, std::string>> provenance_of(const Snapshot& snapshot) {
  std::vector<std::pair<std::string, std::string>> lines;
  auto& db = snapshot.db();
  const auto is_set = [](SQLite::Statement& row, int at) {
    return row.getColumn(at).getInt() != 0;
  };
  for_each_row(db, "SELECT DISTINCT hostname, cpu_model, gpu_model, n_cores FROM host ORDER BY 1",
               [&](SQLite::Statement& row) {
                 const std::string gpu = text_at(row, 2);
                 lines.emplace_back("machine " + text_at(row, 0),
                                    fmt::format("{}, {} cores", text_at(row, 1), text_at(row, 3)) +
                                        (gpu.empty() ? "" : ", " + gpu));
               });
  for_each_row(db,
               "SELECT DISTINCT git_sha, dirty, compiler, torch FROM build WHERE build_id IN "
               "(SELECT build_id FROM run UNION SELECT build_id FROM kernel_run UNION "
               "SELECT build_id FROM study_run) ORDER BY build_id",
               [&](SQLite::Statement& row) {
                 lines.emplace_back(
                     "build " + text_at(row, 0).substr(0, 12) +
                         (is_set(row, 1) ? " with uncommitted changes" : ""),
                     fmt::format("{}, LibTorch {}", text_at(row, 2), text_at(row, 3)));
               });
  for_each_row(db, "SELECT name, variant, sha256, lossy FROM dataset ORDER BY name, variant",
               [&](SQLite::Statement& row) {
                 lines.emplace_back(
                     fmt::format("data {} {}", text_at(row, 0), text_at(row, 1)),
                     text_at(row, 2).substr(0, 16) + (is_set(row, 3) ? ", went through JPEG" : ""));
               });
  for_each_row(db, "SELECT min(started_utc), max(started_utc), count(*) FROM run",
               [&](SQLite::Statement& row) {
                 lines.emplace_back("runs", fmt::format("{}, {} to {}", text_at(row, 2),
                                                        text_at(row, 0), text_at(row, 1)));
               });
  return lines;
}

}  // namespace approx
