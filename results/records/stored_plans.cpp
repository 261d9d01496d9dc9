#include "results/records/stored_plans.h"

#include <algorithm>
#include <filesystem>
#include <optional>
#include <utility>

#include "core/experiment/grid.h"
#include "results/records/members.h"
#include "results/store/database.h"
#include "results/store/held_out.h"

namespace approx {
namespace {

// The same item computed on the other device; nothing where it has no run that can be.
std::optional<Experiment> on_other_device(
    Experiment item, const Catalogue& catalogue,
    const std::function<std::string(const std::string& dataset)>& checksum) {
  auto* trainings = std::get_if<Trainings>(&item.work);
  if (trainings == nullptr) return std::nullopt;
  bool any = false;
  for (auto& run : trainings->runs) {
    if (!run.excluded.empty()) continue;
    const auto other = run.config.device == DeviceKind::kCpu ? DeviceKind::kCuda : DeviceKind::kCpu;
    if (other == DeviceKind::kCpu && needs_cuda(run.config.precision)) continue;
    run.config.device = other;
    set_keys(run, checksum(run.config.dataset), catalogue);
    any = true;
  }
  return any ? std::optional(std::move(item)) : std::nullopt;
}

}  // namespace

StoredPlans::StoredPlans(const std::string& path)
    : checksums_(stored_checksums(path)),
      accuracies_(stored_accuracy(path)),
      items_(stored_items(path)),
      threads_(stored_threads(path)) {
  if (!std::filesystem::exists(path)) return;
  auto db = open_snapshot(path);
  for_each_row(db,
               "SELECT DISTINCT device FROM cell WHERE cell_id IN (SELECT cell_id FROM run WHERE "
               "state IN ('finished', 'diverged'))",
               [&](SQLite::Statement& row) { devices_.insert(text_at(row, 0)); });
}

void StoredPlans::plan(Experiment& item, const Catalogue& catalogue) const {
  const auto* trainings = item.as<Trainings>();
  const bool elsewhere =
      trainings != nullptr &&
      std::any_of(devices_.begin(), devices_.end(), [&](const auto& device) {
        return std::none_of(trainings->runs.begin(), trainings->runs.end(), [&](const auto& run) {
          return run.excluded.empty() && name(run.config.device) == device;
        });
      });
  auto other = elsewhere ? on_other_device(item, catalogue, checksums_) : std::nullopt;
  take_rates(item, catalogue);
  if (!other) return;
  take_rates(*other, catalogue);
  if (results_of(*other, catalogue) > results_of(item, catalogue)) item = std::move(*other);
}

void StoredPlans::take_rates(Experiment& item, const Catalogue& catalogue) const {
  if (item.tuning) take_tuned_rates(item, accuracies_, catalogue, checksums_);
}

// Of the runs that it plans, how many have a result.
int64_t StoredPlans::results_of(const Experiment& item, const Catalogue& catalogue) const {
  std::set<const PlannedRun*> have;
  for (const auto& [key, run] : members_of(item, threads_, checksums_, &catalogue)) {
    if (has_result(items_, key)) have.insert(run);
  }
  return static_cast<int64_t>(have.size());
}

}  // namespace approx
