// Performance profiles.
#include "results/stats/profile.h"

#include <algorithm>
#include <limits>
#include <map>
#include <set>

#include "results/render/column.h"
#include "results/reports/report.h"
#include "results/rows/rows.h"
#include "results/rows/target_rows.h"

namespace approx {
namespace {

// The methods that ran on all workloads, and how long they took there.
struct Profiled {
  std::vector<Group> workloads;
  std::vector<double> budgets;  // a workload each, s
  std::vector<std::string> labels;
  WorkloadTimes times;             // a label each
  std::vector<std::string> notes;  // what cannot be told from the numbers
};

struct ProfileLine {
  std::string label;
  ProfileStep step;
  double score = 0;
  int64_t workloads = 0;
  RatioMean mean;
};

// The longest that a method could have taken on a workload, s.
double budget_of(const Group& workload, const std::vector<TargetRow>& rows) {
  double budget = 0;
  for (const auto& next : rows) {
    if (group_of(*next.row) != workload) continue;
    budget = std::max({budget, next.budget, next.time.longest});
  }
  return budget;
}

// A workload is a group; a method is a (method, schedule) that ran in all of them. A group that
// was only trained exactly, a control, is none, and none is one whose times are of several
// machines.
Profiled profiled(std::vector<TargetRow> rows) {
  std::set<Group> approximated;
  for (const auto& next : rows) {
    if (!is_dense(*next.row->first)) approximated.insert(group_of(*next.row));
  }
  if (!approximated.empty()) {
    std::erase_if(
        rows, [&](const TargetRow& next) { return !approximated.contains(group_of(*next.row)); });
  }
  Profiled all;
  std::set<Group> mixed;
  for (const auto& next : rows) {
    const Group group = group_of(*next.row);
    if (next.machines == 1 || !mixed.insert(group).second) continue;
    all.notes.push_back(fmt::format("left out: {} on {}, whose times are of {} machines",
                                    std::get<0>(group), std::get<1>(group), next.machines));
  }
  std::erase_if(rows, [&](const TargetRow& next) { return next.machines > 1; });
  std::map<std::string, std::map<Group, const TargetRow*>> methods;
  std::vector<std::string> order;
  for (const auto& next : rows) {
    const Group group = group_of(*next.row);
    if (std::find(all.workloads.begin(), all.workloads.end(), group) == all.workloads.end()) {
      all.workloads.push_back(group);
    }
    const std::string label = method_text(*next.row->first);
    if (!methods.contains(label)) order.push_back(label);
    methods[label][group] = &next;
  }
  for (const auto& workload : all.workloads) {
    all.budgets.push_back(budget_of(workload, rows));
  }
  for (const auto& label : order) {
    const auto& cells = methods.at(label);
    if (cells.size() != all.workloads.size()) {
      all.notes.push_back(fmt::format("left out: {} ran on {} of {} workloads", label, cells.size(),
                                      all.workloads.size()));
      continue;
    }
    auto& line = all.times.emplace_back();
    all.labels.push_back(label);
    for (const auto& workload : all.workloads) {
      const auto& time = cells.at(workload)->time;
      // Half of its runs must reach the target for a method to have reached it.
      line.push_back(time.median && *time.median > 0 ? *time.median
                                                     : std::numeric_limits<double>::infinity());
    }
  }
  return all;
}

Columns<ProfileLine> profile_columns() {
  using Line = ProfileLine;
  const auto step = [](auto... of) { return via(&Line::step, of...); };
  return {{.name = "method", .value = &Line::label},
          {.name = "tau", .value = step(&ProfileStep::tau)},
          {.name = "share", .value = step(&ProfileStep::rho)},
          {.name = "lo", .value = step(&ProfileStep::band, &Interval::lo)},
          {.name = "hi", .value = step(&ProfileStep::band, &Interval::hi)},
          {.name = "score", .value = &Line::score},
          {.name = "workloads", .value = &Line::workloads},
          {.name = "geometric_mean", .value = via(&Line::mean, &RatioMean::ratio)},
          {.name = "unreached", .value = via(&Line::mean, &RatioMean::unreached)}};
}

// Performance profiles over all networks, data sets and settings as workloads
// (results/stats/profile.h), by the median time to target: one row for each (method and
// schedule, tau). Groups that were only trained exactly are no workloads.
Table report_profile(const Snapshot& snapshot, const ReportOptions& options) {
  const auto rows_there = rows_of(snapshot, options);
  const RowSet& set = *rows_there;
  const auto targets = target_rows(set, options);
  const Profiled all = profiled(targets);
  std::vector<std::string> notes = all.notes;
  const auto few = std::ranges::count_if(
      targets, [](const TargetRow& line) { return line.notes[kFewTargetRuns]; });
  if (few > 0) {
    notes.push_back(
        fmt::format("{} of {} rows: {}", few, targets.size(), kNoteTexts[kFewTargetRuns].text));
  }
  std::vector<ProfileLine> lines;
  if (!all.times.empty()) {
    const auto profiles = performance_profiles(all.times);
    const auto means = geometric_means(all.times, all.budgets);
    const size_t workloads = all.workloads.size();
    const std::string bands =
        workloads < kWorkloadsForABand
            ? fmt::format("No bands: they take {} workloads", kWorkloadsForABand)
            : "Bands: resampled workloads";
    notes.push_back(fmt::format(
        "{} {}; by the median time to target, infinite if fewer than half of the runs reached it. "
        "{}. Score: mean of the profile over tau from 1 to 4",
        workloads, workloads == 1 ? "workload" : "workloads", bands));
    for (size_t i = 0; i < all.labels.size(); ++i) {
      for (const auto& step : profiles[i].steps) {
        lines.push_back({all.labels[i], step, profiles[i].score,
                         static_cast<int64_t>(all.workloads.size()), means[i]});
      }
      if (means[i].ratio && means[i].unreached > 0) {
        notes.push_back(
            fmt::format("{}: geometric mean ≥ {:.2f}, with {} of {} workloads unreached",
                        all.labels[i], *means[i].ratio, means[i].unreached, means[i].workloads));
      }
    }
    notes.emplace_back(kNotIsolated);
  }
  Table table = table_of(options.experiment, profile_columns(), lines);
  table.notes = std::move(notes);
  return table;
}

REGISTER_REPORT("profile", report_profile)
    .at(4)
    .about("Performance profiles over networks and data sets")
    .made_of("accuracy runs of methods and of dense")
    .drawn_by("profile");

}  // namespace
}  // namespace approx
