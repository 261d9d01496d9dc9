#include "cli/sweep/sweep_outcome.h"

#include <algorithm>
#include <cstdio>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "base/error.h"
#include "cli/tables.h"
#include "cli/text.h"

namespace approx {
namespace {

std::string counted(int64_t number, const char* what) {
  return number == 0 ? std::string() : fmt::format(", {} {}", number, what);
}

// What failed alike in one row, the most frequent first.
std::string failure_table(const std::vector<SweepResult::Failure>& failures) {
  struct Alike {
    int64_t runs = 0;
    const SweepResult::Failure* first = nullptr;
  };
  std::map<std::pair<std::string, std::string>, Alike> alike;
  for (const auto& failure : failures) {
    auto& row = alike[{failure.state, failure.why}];
    if (row.runs++ == 0) row.first = &failure;
  }
  std::vector<Alike> rows;
  for (const auto& [key, row] : alike) rows.push_back(row);
  std::stable_sort(rows.begin(), rows.end(),
                   [](const Alike& a, const Alike& b) { return a.runs > b.runs; });
  constexpr size_t kMostRows = 20;
  std::vector<std::vector<std::string>> texts;
  for (size_t i = 0; i < std::min(rows.size(), kMostRows); ++i) {
    const auto& first = *rows[i].first;
    texts.push_back({fmt::format("{}", rows[i].runs), first.state, first.why, first.run});
  }
  std::string text = "\n" + rows_text({"runs", "state", "why", "first of them"}, texts,
                                      {.descriptor = STDERR_FILENO});
  if (rows.size() > kMostRows) {
    text +=
        fmt::format("and {} other failures: approxtrain report runs\n", rows.size() - kMostRows);
  }
  return text;
}

// Why runs are left out, each reason once, with the number of its runs.
std::string excluded_lines(const Experiment& experiment) {
  std::vector<std::pair<std::string, int64_t>> reasons;
  for (const auto& run : experiment.runs()) {
    if (run.excluded.empty()) continue;
    const auto known = std::find_if(reasons.begin(), reasons.end(), [&](const auto& reason) {
      return reason.first == run.excluded;
    });
    if (known == reasons.end()) {
      reasons.emplace_back(run.excluded, 1);
    } else {
      ++known->second;
    }
  }
  std::string lines;
  for (const auto& [reason, runs] : reasons) {
    lines += fmt::format("{}: {} {} excluded: {}\n", experiment.id, runs,
                         runs == 1 ? "run" : "runs", printable(reason));
  }
  return lines;
}

}  // namespace

int finish_sweep(const Experiment& experiment, const SweepResult& result) {
  const int64_t ended =
      result.finished + result.diverged + result.failed + result.cut_off + result.interrupted;
  std::string line =
      fmt::format("{}: {} {} ended", experiment.id, ended, ended == 1 ? "run" : "runs");
  const int64_t before = result.failed_before + result.cut_off_before;
  if (ended == 0 && before + result.elsewhere + result.not_started == 0) {
    line = fmt::format("{}: nothing left to do", experiment.id);
  }
  line += counted(result.finished, "finished") + counted(result.diverged, "diverged") +
          counted(result.cut_off, "cut off by --timeout") + counted(result.failed, "failed") +
          counted(result.interrupted, "interrupted") + counted(result.done_before, "done before") +
          counted(result.timed_again, "timed again after a disturbance") +
          counted(result.tainted, "tainted (--rerun tainted times them again)") +
          counted(result.failed_before,
                  "failed before (report runs says why, --rerun failed does them again)") +
          counted(result.cut_off_before,
                  "cut off by --timeout before (--rerun timeout does them again)") +
          counted(result.excluded, "excluded") + counted(result.elsewhere, "with another process") +
          counted(result.not_started, "not started");
  if (result.budget_used_up) line += ": the budget is used up; the same command goes on";
  std::fputs((line + "\n" + excluded_lines(experiment)).c_str(), stderr);
  if (!result.failures.empty()) {
    const auto& first = result.failures.front();
    std::fputs(fmt::format("approxtrain: first failure: {}: {}: {} (see {})\n", first.run,
                           first.state, first.why, first.folder)
                   .c_str(),
               stderr);
  }
  if (result.failures.size() > 1) std::fputs(failure_table(result.failures).c_str(), stderr);
  if (!result.library_problem.empty()) {
    std::fputs(fmt::format("approxtrain: {}; no run of it is stored: once program and library are "
                           "of one build, the same command goes on\n",
                           result.library_problem)
                   .c_str(),
               stderr);
  }
  if (result.signal != 0) return 128 + result.signal;
  if (!result.library_problem.empty()) return static_cast<int>(ErrorKind::kInternal);
  if (result.device_lost) return static_cast<int>(ErrorKind::kDevice);
  return result.failed + result.failed_before > 0 ? static_cast<int>(ErrorKind::kCells) : 0;
}

}  // namespace approx
