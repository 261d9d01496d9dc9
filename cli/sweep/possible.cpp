#include "cli/sweep/possible.h"

#include <algorithm>
#include <string>
#include <variant>

#include "base/error.h"
#include "cli/text.h"
#include "core/config/catalogue.h"
#include "core/data/demands.h"

namespace approx {
namespace {

void check_served(const RunConfig& config) {
  check_demands(config, outline_of(Registry<DatasetEntry>::instance().find(config.dataset)),
                Catalogue::embedded().network(parse_spec(config.network).name));
}

// Whether it is left out for more than what its file says.
bool is_impossible(const PlannedRun& run) {
  if (run.excluded.empty()) return false;
  try {
    check(run.config);
    check_served(run.config);
  } catch (const Error&) {
    return true;
  }
  return false;
}

}  // namespace

void exclude_unserved(Experiment& experiment) {
  auto* trainings = std::get_if<Trainings>(&experiment.work);
  if (trainings == nullptr) return;
  for (auto& run : trainings->runs) {
    if (!run.excluded.empty()) continue;
    try {
      check_served(run.config);
    } catch (const Error& error) {
      run.excluded = error.what();
    }
  }
}

void check_any_possible(const Experiment& experiment) {
  const auto& runs = experiment.runs();
  if (runs.empty() || !std::ranges::all_of(runs, is_impossible)) return;
  throw usage_error("{}: none of its {} can be done: {}", experiment.id,
                    runs.size() == 1 ? "runs" : fmt::format("{} runs", runs.size()),
                    printable(runs.front().excluded));
}

}  // namespace approx
