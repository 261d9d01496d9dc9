#include "cli/slurm/split.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>

namespace approx {
namespace {

// Seeds change slowest, then networks, then methods, as in a grid.
std::vector<PlannedRun> grid(int64_t seeds, int64_t networks, int64_t methods) {
  std::vector<PlannedRun> runs;
  for (int64_t seed = 0; seed < seeds; ++seed) {
    for (int64_t network = 0; network < networks; ++network) {
      for (int64_t method = 0; method < methods; ++method) {
        PlannedRun run;
        run.config.seed = seed;
        run.config.network = "network" + std::to_string(network);
        run.config.method = "method" + std::to_string(method);
        runs.push_back(run);
      }
    }
  }
  return runs;
}

TaskRuns all_of(const std::vector<PlannedRun>& runs) {
  TaskRuns all;
  for (const auto& run : runs) all.push_back(&run);
  return all;
}

std::vector<size_t> sizes(const std::vector<TaskRuns>& tasks) {
  std::vector<size_t> found;
  for (const auto& task : tasks) found.push_back(task.size());
  return found;
}

TEST(SplitRuns, GivesEachComparisonATaskOfItsOwn) {
  const auto runs = grid(3, 2, 4);
  const auto tasks = split_runs(all_of(runs), 0);
  ASSERT_EQ(sizes(tasks), std::vector<size_t>(6, 4));
  for (size_t task = 0; task < tasks.size(); ++task) {
    for (size_t i = 0; i < 4; ++i) EXPECT_EQ(tasks[task][i], &runs[4 * task + i]);
  }
}

TEST(SplitRuns, BringsTheArmsOfASeedTogetherWhereverTheyStand) {
  auto runs = grid(2, 1, 2);
  std::swap(runs[1], runs[2]);
  const auto tasks = split_runs(all_of(runs), 2);
  ASSERT_EQ(sizes(tasks), std::vector<size_t>({2, 2}));
  for (const auto& task : tasks) {
    EXPECT_EQ(task[0]->config.seed, task[1]->config.seed);
  }
}

// Whatever the numbers: every run once and in order, no task empty, no comparison cut that need not
// be, sizes as equal as comparisons let them.
TEST(SplitRuns, LosesAndDoublesNothing) {
  for (const int64_t seeds : {1, 2, 5, 7}) {
    for (const int64_t methods : {1, 3, 4}) {
      const auto runs = grid(seeds, 2, methods);
      const auto all = all_of(runs);
      const auto groups = 2 * seeds;
      for (int64_t count = 1; count <= static_cast<int64_t>(runs.size()) + 2; ++count) {
        const auto tasks = split_runs(all, count);
        EXPECT_EQ(tasks.size(), std::min<size_t>(static_cast<size_t>(count), runs.size()));
        TaskRuns joined;
        std::multiset<std::pair<int64_t, std::string>> places;
        size_t least = runs.size(), most = 0;
        for (const auto& task : tasks) {
          least = std::min(least, task.size());
          most = std::max(most, task.size());
          joined.insert(joined.end(), task.begin(), task.end());
          std::set<std::pair<int64_t, std::string>> here;
          for (const auto* run : task) here.emplace(run->config.seed, run->config.network);
          places.insert(here.begin(), here.end());
        }
        EXPECT_EQ(joined, all);
        EXPECT_GT(least, 0u);
        const auto grain = count <= groups ? static_cast<size_t>(methods) : 1;
        EXPECT_LE(most - least, grain) << seeds << " seeds, " << count << " tasks";
        if (count <= groups) {
          EXPECT_EQ(places.size(), static_cast<size_t>(groups)) << "a comparison was cut";
        }
      }
    }
  }
}

TEST(SplitRuns, IsNoLargerThanAClusterTakes) {
  const auto runs = grid(kMostTasks + 200, 1, 1);
  EXPECT_EQ(split_runs(all_of(runs), 0).size(), static_cast<size_t>(kMostTasks));
}

TEST(SplitRuns, OfNothingIsNothing) { EXPECT_TRUE(split_runs({}, 0).empty()); }

}  // namespace
}  // namespace approx
