#include "results/store/run_sizes.h"

#include <filesystem>

#include "base/disk.h"
#include "results/stats/stats.h"
#include "results/store/database.h"
#include "results/store/run_times.h"

namespace approx {
namespace {

namespace fs = std::filesystem;

constexpr size_t kFolders = 5;  // that are looked into for one median

// The file's bytes by run: each row of a curve or a count as much as another, and what is kept as a
// text or a list by its length, so that all shares together are the file.
constexpr const char* kShares =
    "WITH rows(run_id, bytes) AS ("
    "SELECT run_id, 64.0 * count(*) FROM metric GROUP BY run_id UNION ALL "
    "SELECT run_id, 64.0 * count(*) FROM layer_metric GROUP BY run_id UNION ALL "
    "SELECT run_id, 64.0 * count(*) FROM layer_variant GROUP BY run_id UNION ALL "
    "SELECT run_id, 64.0 * count(*) FROM layer_traffic GROUP BY run_id UNION ALL "
    "SELECT run_id, 64.0 * count(*) FROM timing_block GROUP BY run_id UNION ALL "
    "SELECT run_id, 256.0 + length(environment) + length(error) + coalesce(length(step_ns), 0) "
    "FROM run), "
    "share AS (SELECT run_id, sum(bytes) AS bytes FROM rows GROUP BY run_id), "
    "whole AS (SELECT sum(bytes) AS bytes FROM share) "
    "SELECT c.config, s.bytes / w.bytes * ?1, r.run_directory, "
    "coalesce(json_extract(r.environment, '$.parameters'), 0) "
    "FROM run r JOIN cell c USING(cell_id) JOIN share s USING(run_id) JOIN whole w "
    "WHERE r.state IN ('finished', 'diverged') ORDER BY r.run_id DESC";

}  // namespace

RunSizes::RunSizes(const std::string& path) {
  std::error_code unreadable;  // who opens it says what is wrong with it
  const auto file = fs::file_size(path, unreadable);
  if (unreadable) return;
  auto db = open_snapshot(path);
  for_each_row(
      db, kShares,
      [&](SQLite::Statement& row) {
        const Json config = Json::parse(text_at(row, 0), nullptr, /*allow_exceptions=*/false);
        if (!config.is_object()) return;
        const Sample sample{row.getColumn(1).getDouble(), text_at(row, 2),
                            row.getColumn(3).getInt64()};
        for (auto* of : {&alike_[alike_runs(config)], &similar_[similar_runs(config)]}) {
          if (of->size() < kFolders) of->push_back(sample);
        }
      },
      static_cast<double>(file));
}

std::optional<RunSizes::Size> RunSizes::expected(const RunConfig& config) const {
  const Json json(config);
  auto found = alike_.find(alike_runs(json));
  if (found == alike_.end()) {
    found = similar_.find(similar_runs(json));
    if (found == similar_.end()) return std::nullopt;
  }
  std::vector<double> database, folders, parameters;
  for (const auto& sample : found->second) {
    database.push_back(sample.in_database);
    parameters.push_back(static_cast<double>(sample.parameters));
    // (None on a machine that merged the store of another.)
    const auto bytes = stored_bytes(sample.folder);
    if (bytes) folders.push_back(static_cast<double>(*bytes));
  }
  double kept = quantile(database, 0.5);
  if (!folders.empty()) kept += quantile(folders, 0.5);
  Size size{.kept = static_cast<int64_t>(kept)};
  if (config.purpose == Purpose::kAccuracy) {
    size.checkpoint =
        checkpoint_bytes(config.recipe, static_cast<int64_t>(quantile(parameters, 0.5)));
  }
  return size;
}

int64_t checkpoint_bytes(const Recipe& recipe, int64_t parameters) {
  const bool adam = recipe.optimizer == UpdateRule::kAdam;
  const int64_t remembered = adam ? 2 : recipe.momentum != 0 ? 1 : 0;
  const int64_t averaged = recipe.ema > 0 ? 1 : 0;
  return 4 * parameters * (1 + remembered + averaged);
}

}  // namespace approx
