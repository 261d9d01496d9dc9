#include "results/records/targets.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <optional>
#include <string_view>
#include <tuple>

#include "base/params.h"
#include "results/store/sql.h"

namespace approx {
namespace {

// A line of a stored table by its columns; nothing where it is not one of a target.
struct TargetLine {
  std::string network, dataset, setting, run_key, commit;
  double median = 0, share = 0;
};

std::optional<TargetLine> target_line(const Json& row) {
  if (!row.is_array() || row.size() != std::size(kTargetColumns)) return std::nullopt;
  const auto at = [&](const char* column) -> const Json& {
    const auto found = std::ranges::find(kTargetColumns, std::string_view(column));
    return row[static_cast<size_t>(found - std::begin(kTargetColumns))];
  };
  for (const char* column : {"network", "dataset", "setting", "run_key", "commit"}) {
    if (!at(column).is_string()) return std::nullopt;
  }
  for (const char* column : {"median", "target"}) {
    if (!at(column).is_number()) return std::nullopt;
  }
  const double share = at("target").get<double>();
  if (!(share > 0 && share <= 1)) return std::nullopt;
  return TargetLine{.network = at("network"),
                    .dataset = at("dataset"),
                    .setting = at("setting"),
                    .run_key = at("run_key"),
                    .commit = at("commit"),
                    .median = at("median").get<double>(),
                    .share = share};
}

}  // namespace

std::string target_origin(int64_t runs, const std::string& margin) {
  return fmt::format("median best of {} dense {} less {}", runs, runs == 1 ? "run" : "runs",
                     margin);
}

std::string StoredTarget::origin() const {
  constexpr size_t kDay = std::string_view("2026-01-31").size(), kShortCommit = 7;
  return fmt::format("{}, derived {} by commit {}", target_origin(runs(), margin),
                     derived_utc.substr(0, kDay), commit.substr(0, kShortCommit));
}

std::vector<StoredTarget> read_targets(SQLite::Database& db, const std::string& experiment) {
  std::vector<StoredTarget> targets;
  for_each_row(
      db,
      "SELECT s.params, s.content, s.started_utc, b.git_sha FROM study_run s "
      "JOIN build b USING(build_id) WHERE s.name = ? ORDER BY s.started_utc, s.study_run_id",
      [&](SQLite::Statement& row) {
        const Json params = Json::parse(text_at(row, 0), nullptr, /*allow_exceptions=*/false);
        const Json content = Json::parse(text_at(row, 1), nullptr, /*allow_exceptions=*/false);
        if (!params.is_object() || !content.is_object() || !content.contains("rows")) return;
        const auto text = [&](const char* name) {
          const auto found = params.find(name);
          return found != params.end() && found->is_string() ? found->get<std::string>()
                                                             : std::string();
        };
        std::map<std::tuple<std::string, std::string, std::string>, StoredTarget> groups;
        for (const auto& each : content["rows"]) {
          const auto line = target_line(each);
          if (!line) continue;
          auto& target = groups[{line->network, line->dataset, line->setting}];
          target.experiment = text("experiment"), target.margin = text("margin");
          target.derived_utc = text_at(row, 2), target.commit = text_at(row, 3);
          target.median = line->median, target.share = line->share;
          target.run_keys.insert(line->run_key);
          target.commits.insert(line->commit);
        }
        for (auto& [group, target] : groups) targets.push_back(std::move(target));
      },
      kTargetStudy);
  std::ranges::stable_partition(
      targets, [&](const StoredTarget& target) { return target.experiment != experiment; });
  return targets;
}

}  // namespace approx
