#include "cli/slurm/split.h"

#include <algorithm>
#include <map>
#include <string>
#include <tuple>

namespace approx {
namespace {

std::vector<TaskRuns> comparisons(const TaskRuns& runs) {
  std::vector<TaskRuns> found;
  std::map<std::tuple<int64_t, std::string, std::string>, size_t> places;
  for (const auto* run : runs) {
    const auto& config = run->config;
    const auto [at, is_new] =
        places.try_emplace({config.seed, config.network, config.dataset}, found.size());
    if (is_new) found.emplace_back();
    found[at->second].push_back(run);
  }
  return found;
}

std::vector<TaskRuns> single_runs(const std::vector<TaskRuns>& groups) {
  std::vector<TaskRuns> singles;
  for (const auto& group : groups) {
    for (const auto* run : group) singles.push_back({run});
  }
  return singles;
}

}  // namespace

std::vector<TaskRuns> split_runs(const TaskRuns& runs, int64_t tasks) {
  auto groups = comparisons(runs);
  if (tasks == 0) tasks = std::min(static_cast<int64_t>(groups.size()), kMostTasks);
  if (tasks > static_cast<int64_t>(groups.size())) groups = single_runs(groups);
  const size_t count = std::min(static_cast<size_t>(tasks), groups.size());

  std::vector<TaskRuns> dealt(count);
  size_t runs_left = runs.size(), next = 0;
  for (size_t task = 0; task < count; ++task) {
    const size_t tasks_left = count - task;
    TaskRuns& own = dealt[task];
    // The group that comes as near as can be to an equal share of what is left is its last, as long
    // as there is one for each task behind it.
    while (next < groups.size() - (tasks_left - 1)) {
      const size_t share = 2 * own.size() + groups[next].size();  // twice, at half of that group
      if (!own.empty() && tasks_left > 1 && share * tasks_left > 2 * runs_left) break;
      own.insert(own.end(), groups[next].begin(), groups[next].end());
      ++next;
    }
    runs_left -= own.size();
  }
  return dealt;
}

}  // namespace approx
