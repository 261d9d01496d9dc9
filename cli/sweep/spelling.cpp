#include "cli/sweep/spelling.h"

#include <algorithm>
#include <filesystem>
#include <set>
#include <utility>

#include "results/store/run_store.h"

namespace approx {

std::vector<std::string> idle_lines(const std::vector<PlannedRun>& runs) {
  using Value = std::pair<std::string, std::string>;
  std::set<Value> in_effect;
  std::vector<IdleSetting> idle;
  for (const auto& run : runs) {
    if (!run.excluded.empty()) continue;
    for (const auto& value : settings_in_effect(run.config)) in_effect.insert(value);
    for (auto& setting : idle_settings(run.config.recipe)) {
      if (std::ranges::find(idle, setting) == idle.end()) idle.push_back(std::move(setting));
    }
  }
  std::vector<std::string> lines;
  for (const auto& setting : idle) {
    if (in_effect.contains({setting.name, setting.value})) continue;
    lines.push_back(fmt::format("recipe.{} = {} has no effect under {}; counted as its default",
                                setting.name, setting.value, setting.why));
  }
  return lines;
}

void keep_stored_keys(std::vector<PlannedRun>& runs, const std::string& db) {
  const bool any = std::ranges::any_of(
      runs, [](const PlannedRun& run) { return run.excluded.empty() && !run.same_keys.empty(); });
  std::error_code error;
  if (!any || !std::filesystem::exists(db, error)) return;
  const RunStore store(db, RunStore::Mode::kRead);
  for (auto& run : runs) {
    if (!run.excluded.empty() || run.same_keys.empty()) continue;
    if (store.status(run.key).attempts > 0) continue;
    for (auto& key : run.same_keys) {
      if (store.status(key).attempts == 0) continue;
      std::swap(run.key, key);
      break;
    }
  }
}

}  // namespace approx
