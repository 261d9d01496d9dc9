// Distributes the runs of a sweep over the tasks of a job array.
#pragma once

#include <cstdint>
#include <vector>

#include "core/experiment/grid.h"

namespace approx {

// The runs of one task, in the order in which they are done.
using TaskRuns = std::vector<const PlannedRun*>;

// Distributes `runs`, all of one purpose, over `tasks` tasks, or over fewer if there are fewer
// runs. 0 means one task per comparison, but at most kMostTasks. A comparison is the runs of one
// seed, network, data set and purpose, with any methods and schedules.
//
// Comparisons stay whole and in the order of their first appearance, with neighbours together. A
// cluster begins tasks in order, so tasks that end early leave complete comparisons. With more
// tasks than comparisons, single runs are distributed in that order. The numbers of runs per task
// are as equal as that allows. Equal runs are always distributed alike. No run is left out or given
// twice, and no task is empty.
std::vector<TaskRuns> split_runs(const std::vector<const PlannedRun*>& runs, int64_t tasks);

// The usual limit of a cluster for the tasks of one array (MaxArraySize 1001).
inline constexpr int64_t kMostTasks = 1000;

}  // namespace approx
