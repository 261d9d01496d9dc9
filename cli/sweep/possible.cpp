#include "cli/sweep/possible.h"

#include <algorithm>
#include <string>
#include <variant>

#include "base/error.h"
#include "cli/python_flags.h"
#include "cli/text.h"
#include "core/config/catalogue.h"
#include "core/data/demands.h"

namespace approx {
namespace {

void check_served(const RunConfig& config) {
  check_python(config);
  check_demands(config, outline_of(Registry<DatasetEntry>::instance().find(config.dataset)),
                Catalogue::embedded().network(parse_spec(config.network).name));
}

// Why it cannot be done, whatever its file says of it; "" where it can.
std::string why_impossible(const PlannedRun& run) {
  if (run.excluded.empty()) return "";
  try {
    check(run.config);
    check_served(run.config);
  } catch (const Error& error) {
    return error.what();
  }
  return "";
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
  const auto impossible = [](const PlannedRun& run) { return !why_impossible(run).empty(); };
  if (runs.empty() || !std::ranges::all_of(runs, impossible)) return;
  throw usage_error("{}: none of the {} can be done: {}", experiment.id,
                    runs.size() == 1 ? "runs" : fmt::format("{} runs", runs.size()),
                    printable(why_impossible(runs.front())));
}

}  // namespace approx
