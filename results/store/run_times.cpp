#include "results/store/run_times.h"

#include <filesystem>

#include "results/stats/stats.h"
#include "results/store/database.h"

namespace approx {
namespace {

// A worker's own clock starts when it has loaded what it needs: libraries, data, other ranks. What
// its run lasted longer than that by the clock on the wall is that start, unless it is more than
// any takes: then the run was settled long after its end, or the clock was set.
constexpr double kLongestStart = 60;

// `own`: by the worker's clock; `between`: from the beginning to the end as they are recorded.
double seconds_of(std::optional<double> own, std::optional<double> between) {
  if (!own) return between.value_or(0);
  const double start = between.value_or(0) - *own;
  return start > 0 && start < kLongestStart ? *own + start : *own;
}

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
  for_each_row(
      db,
      "SELECT c.config, r.wall_ns / 1e9, "
      "strftime('%s', r.ended_utc) - strftime('%s', r.started_utc) "
      "FROM run r JOIN cell c USING(cell_id) WHERE r.state IN ('finished', 'diverged')",
      [&](SQLite::Statement& row) {
        const Json config = Json::parse(text_at(row, 0), nullptr, /*allow_exceptions=*/false);
        if (!config.is_object()) return;
        add_json(config,
                 seconds_of(optional_real(row.getColumn(1)), optional_real(row.getColumn(2))));
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
