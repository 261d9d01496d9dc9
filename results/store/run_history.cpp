#include "results/store/run_history.h"

#include <filesystem>

#include "base/disk.h"
#include "results/stats/stats.h"
#include "results/store/database.h"

namespace approx {
namespace {

namespace fs = std::filesystem;

constexpr size_t kFolders = 5;  // that are looked into for one median

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

// What alike runs have in common, as a text.
std::string alike(Json config) {
  config.erase("seed");
  return json_text(config);
}

std::string similar(Json config) {
  for (const char* key : {"seed", "method", "schedule", "kernel_rules", "stop_at", "patience"}) {
    config.erase(key);
  }
  if (const auto recipe = config.find("recipe"); recipe != config.end() && recipe->is_object()) {
    recipe->erase("learning_rate");
  }
  return "similar " + json_text(config);
}

// Calls `use` with each row of a query whose first column is a configuration.
template <typename Use, typename... Args>
void for_each_config(const std::string& path, const char* sql, const Use& use,
                     const Args&... args) {
  auto db = open_snapshot(path);
  for_each_row(
      db, sql,
      [&](SQLite::Statement& row) {
        const Json config = Json::parse(text_at(row, 0), nullptr, /*allow_exceptions=*/false);
        if (config.is_object()) use(config, row);
      },
      args...);
}

}  // namespace

template <typename Sample>
void LikeRuns<Sample>::add(const Json& config, const Sample& sample, size_t most) {
  for (const auto& key : {alike(config), similar(config)}) {
    if (auto& of = samples_[key]; of.size() < most) of.push_back(sample);
  }
}

template <typename Sample>
const std::vector<Sample>* LikeRuns<Sample>::find(const RunConfig& config) const {
  auto found = samples_.find(alike(config));
  if (found == samples_.end()) found = samples_.find(similar(config));
  return found == samples_.end() ? nullptr : &found->second;
}

RunTimes::RunTimes(const std::string& path) {
  std::error_code ignored;
  if (!fs::exists(path, ignored)) return;
  for_each_config(path,
                  "SELECT c.config, r.wall_ns / 1e9, "
                  "strftime('%s', r.ended_utc) - strftime('%s', r.started_utc) "
                  "FROM run r JOIN cell c USING(cell_id) "
                  "WHERE r.state IN ('finished', 'diverged')",
                  [&](const Json& config, SQLite::Statement& row) {
                    seconds_.add(config, seconds_of(optional_real(row.getColumn(1)),
                                                    optional_real(row.getColumn(2))));
                  });
}

void RunTimes::add(const RunConfig& config, double seconds) { seconds_.add(config, seconds); }

std::optional<double> RunTimes::expected(const RunConfig& config) const {
  const auto* found = seconds_.find(config);
  return found == nullptr ? std::nullopt : std::optional(quantile(*found, 0.5));
}

RunSizes::RunSizes(const std::string& path) {
  std::error_code unreadable;  // who opens it says what is wrong with it
  const auto file = fs::file_size(path, unreadable);
  if (unreadable) return;
  for_each_config(
      path, kShares,
      [&](const Json& config, SQLite::Statement& row) {
        samples_.add(config,
                     {row.getColumn(1).getDouble(), text_at(row, 2), row.getColumn(3).getInt64()},
                     kFolders);
      },
      static_cast<double>(file));
}

std::optional<RunSizes::Size> RunSizes::expected(const RunConfig& config) const {
  const auto* found = samples_.find(config);
  if (found == nullptr) return std::nullopt;
  std::vector<double> database, folders, parameters;
  for (const auto& sample : *found) {
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
