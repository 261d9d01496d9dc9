// How the runs of a sweep are dealt to the tasks of a job array.
#pragma once

#include <cstdint>
#include <vector>

#include "core/experiment/grid.h"

namespace approx {

// The runs of one task, in the order in which they are done.
using TaskRuns = std::vector<const PlannedRun*>;

// A comparison is what is held against each other: the runs of one seed, network, data set and
// purpose, whatever their methods and schedules. Deals `runs`, of one purpose, to `tasks` tasks, or
// to fewer where there are not so many runs; 0: a task for each comparison, but no more than
// kMostTasks.
//
// Comparisons stay whole and in the order in which they first appear, neighbours together, so that
// tasks that end early (a cluster begins them in order) leave complete comparisons; with more tasks
// than comparisons, single runs are dealt in that order. Tasks get as equal numbers of runs as that
// allows. The same runs are always dealt alike; none is left out or dealt twice, no task is empty.
std::vector<TaskRuns> split_runs(const std::vector<const PlannedRun*>& runs, int64_t tasks);

// What a cluster takes in one array if nobody has told it otherwise (MaxArraySize 1001).
inline constexpr int64_t kMostTasks = 1000;

}  // namespace approx
