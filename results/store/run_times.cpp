#include "results/store/run_times.h"

#include <filesystem>

#include "results/stats/stats.h"
#include "results/store/database.h"

namespace approx {
namespace {

std::optional<double> median_in(const std::map<std::string, std::vector<double>>& times,
                                const std::string& key) {
  const auto found = times.find(key);
  if (found == times.end()) return std::nullopt;
  return quantile(found->second, 0.5);
}

}  // namespace

std::string alike_runs(const Json& config) {
  Json common = config;
  common.erase("seed");
  return json_text(common);
}

std::string similar_runs(const Json& config) {
  Json common = config;
  for (const char* key : {"seed", "method", "schedule", "kernel_rules", "stop_at"}) {
    common.erase(key);
  }
  if (const auto recipe = common.find("recipe"); recipe != common.end() && recipe->is_object()) {
    recipe->erase("learning_rate");
  }
  return json_text(common);
}

RunTimes::RunTimes(const std::string& path) {
  std::error_code ignored;
  if (!std::filesystem::exists(path, ignored)) return;
  auto db = open_snapshot(path);
  for_each_row(db,
               "SELECT c.config, max(coalesce(r.wall_ns, 0) / 1e9, "
               "coalesce(strftime('%s', r.ended_utc) - strftime('%s', r.started_utc), 0)) "
               "FROM run r JOIN cell c USING(cell_id) WHERE r.state IN ('finished', 'diverged')",
               [&](SQLite::Statement& row) {
                 const Json config =
                     Json::parse(text_at(row, 0), nullptr, /*allow_exceptions=*/false);
                 if (!config.is_object()) return;
                 add_json(config, row.getColumn(1).getDouble());
               });
}

void RunTimes::add(const RunConfig& config, double seconds) { add_json(Json(config), seconds); }

void RunTimes::add_json(const Json& config, double seconds) {
  alike_[alike_runs(config)].push_back(seconds);
  similar_[similar_runs(config)].push_back(seconds);
}

std::optional<double> RunTimes::expected(const RunConfig& config) const {
  const Json json(config);
  const auto alike = median_in(alike_, alike_runs(json));
  return alike ? alike : median_in(similar_, similar_runs(json));
}

}  // namespace approx
