#include "results/records/items.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "base/registry.h"
#include "core/data/dataset.h"
#include "core/experiment/grid.h"

namespace approx {
namespace {

std::set<Purpose> planned_purposes(const Experiment& item) {
  std::set<Purpose> purposes;
  for (const auto& run : item.runs()) purposes.insert(run.config.purpose);
  return purposes;
}

// The item computed on the other device; nothing if none of its runs can be.
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

std::map<std::string, StoredItem> read_items(SQLite::Database& db) {
  std::map<std::string, StoredItem> items;
  for_each_row(db,
               "SELECT e.name, c.purpose, count(c.cell_id), count(CASE WHEN EXISTS(SELECT 1 FROM "
               "run r WHERE r.cell_id = c.cell_id AND r.state IN ('finished', 'diverged')) THEN 1 "
               "END) FROM experiment e LEFT JOIN experiment_cell m USING(experiment_id) LEFT JOIN "
               "cell c USING(cell_id) GROUP BY e.name, c.purpose",
               [&](SQLite::Statement& row) {
                 auto& item = items[text_at(row, 0)];
                 item.planned += row.getColumn(2).getInt64();
                 const int64_t finished = row.getColumn(3).getInt64();
                 if (finished > 0) item.finished[parse_purpose(text_at(row, 1))] = finished;
               });
  for_each_row(
      db,
      "SELECT DISTINCT e.name, c.run_key FROM experiment e JOIN experiment_cell m "
      "USING(experiment_id) JOIN cell c USING(cell_id) JOIN run r USING(cell_id) WHERE "
      "r.state IN ('finished', 'diverged')",
      [&](SQLite::Statement& row) { items[text_at(row, 0)].keys.insert(text_at(row, 1)); });
  for_each_row(db,
               "SELECT experiment, count(*) FROM (SELECT experiment FROM study_run UNION ALL "
               "SELECT experiment FROM kernel_run) WHERE experiment <> '' GROUP BY experiment",
               [&](SQLite::Statement& row) {
                 items[text_at(row, 0)].item_results = row.getColumn(1).getInt64();
               });
  return items;
}

std::map<std::string, std::string> read_checksums(SQLite::Database& db) {
  std::map<std::string, std::string> newest;
  for_each_row(db, "SELECT name, sha256 FROM dataset ORDER BY dataset_id",
               [&](SQLite::Statement& row) { newest[text_at(row, 0)] = text_at(row, 1); });
  return newest;
}

// The number of classes of each data set that the program knows.
std::map<std::string, int64_t> classes_of_datasets() {
  std::map<std::string, int64_t> classes;
  for (const auto* entry : Registry<DatasetEntry>::instance().all()) {
    classes[entry->name] = entry->classes;
  }
  return classes;
}

std::map<std::string, double> read_held_out(SQLite::Database& db) {
  const auto classes = classes_of_datasets();
  std::map<std::string, double> known;
  for_each_row(db,
               "SELECT c.run_key, CASE WHEN r.state = 'diverged' THEN 0.0 ELSE (SELECT m.value "
               "FROM metric m WHERE m.run_id = r.run_id AND m.name = 'accuracy' AND m.split = "
               "'holdout' ORDER BY m.step DESC LIMIT 1) END, c.dataset FROM cell c JOIN run r "
               "USING(cell_id) "
               "WHERE c.purpose = 'accuracy' AND r.state IN ('finished', 'diverged') "
               "ORDER BY r.attempt",
               [&](SQLite::Statement& row) {
                 const auto accuracy = optional_real(row.getColumn(1));
                 if (!accuracy) return;
                 const auto found = classes.find(text_at(row, 2));
                 const bool guesses =
                     found != classes.end() &&
                     *accuracy * static_cast<double>(found->second) < kAboveGuessing;
                 known[text_at(row, 0)] = guesses ? 0 : *accuracy;
               });
  return known;
}

}  // namespace

StoredItems::StoredItems(SQLite::Database& db) : StoredItems(read_items(db)) {
  checksums_ = [newest = read_checksums(db)](const std::string& dataset) {
    const auto found = newest.find(dataset);
    return found == newest.end() ? std::string() : found->second;
  };
  held_out_ = [known = read_held_out(db)](const std::string& key) {
    const auto found = known.find(key);
    return found == known.end() ? std::nullopt : std::optional(found->second);
  };
  for_each_row(db,
               "SELECT DISTINCT device FROM cell WHERE cell_id IN (SELECT cell_id FROM run WHERE "
               "state IN ('finished', 'diverged'))",
               [&](SQLite::Statement& row) { devices_.insert(text_at(row, 0)); });
  for_each_row(db, "SELECT DISTINCT threads FROM cell ORDER BY threads",
               [&](SQLite::Statement& row) { threads_.push_back(row.getColumn(0).getInt64()); });
}

StoredItems::StoredItems(std::map<std::string, StoredItem> items)
    : items_(std::move(items)),
      checksums_([](const std::string&) { return std::string(); }),
      held_out_([](const std::string&) { return std::nullopt; }) {}

int64_t StoredItem::all_finished() const {
  int64_t all = 0;
  for (const auto& [purpose, count] : finished) all += count;
  return all;
}

bool StoredItems::has_result(const std::string& key) const {
  return std::any_of(items_.begin(), items_.end(),
                     [&](const auto& item) { return item.second.keys.contains(key); });
}

int64_t StoredItems::finished_runs(const Experiment& item) const {
  const auto own = items_.find(item.id);
  int64_t count = 0;
  if (own != items_.end()) {
    for (const auto purpose : planned_purposes(item)) {
      const auto found = own->second.finished.find(purpose);
      if (found != own->second.finished.end()) count += found->second;
    }
  }
  for (const auto& run : item.runs()) {
    const auto any_key = [&run](const auto& is) {
      return is(run.key) || std::any_of(run.earlier_keys.begin(), run.earlier_keys.end(), is);
    };
    const bool counted = own != items_.end() && any_key([&](const std::string& key) {
                           return own->second.keys.contains(key);
                         });
    if (counted || !run.excluded.empty()) continue;
    count += any_key([&](const std::string& key) { return has_result(key); });
  }
  return count;
}

std::map<Purpose, int64_t> StoredItems::finished_beside(const Experiment& item) const {
  const auto own = items_.find(item.id);
  if (own == items_.end()) return {};
  auto beside = own->second.finished;
  for (const auto purpose : planned_purposes(item)) beside.erase(purpose);
  return beside;
}

Scale StoredItems::most_measured(const Experiment& layout, const ItemAtScale& at_scale) const {
  Scale best = Scale::kFull;
  if (items_.empty()) return best;
  int64_t most = 0;
  for (const auto scale : layout.scales) {
    if (scale == Scale::kSmoke && most > 0) continue;
    const Experiment& item = at_scale(scale);
    int64_t results = finished_runs(item);
    const auto own = items_.find(item.id);
    if (own != items_.end()) {
      results = std::max(results, own->second.all_finished() + own->second.item_results);
    }
    if (results > most) best = scale, most = results;
  }
  return best;
}

void StoredItems::plan(Experiment& item, const Catalogue& catalogue) const {
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

void StoredItems::take_rates(Experiment& item, const Catalogue& catalogue) const {
  if (item.tuning) take_tuned_rates(item, held_out_, catalogue, checksums_);
}

// How many of the runs that the item plans have a result.
int64_t StoredItems::results_of(const Experiment& item, const Catalogue& catalogue) const {
  std::set<const PlannedRun*> have;
  for (const auto& [key, run] : members_of(item, &catalogue)) {
    if (has_result(key)) have.insert(run);
  }
  return static_cast<int64_t>(have.size());
}

Members StoredItems::members_of(const Experiment& item, const Catalogue* catalogue) const {
  Members members;
  for (const auto& run : item.runs()) {
    if (!run.excluded.empty()) continue;
    PlannedRun on = run;
    const auto add = [&] {
      members.emplace(on.key, &run);
      for (const auto& key : on.earlier_keys) members.emplace(key, &run);
    };
    add();
    if (!run.threads_of_machine || catalogue == nullptr) continue;
    for (const int64_t count : threads_) {
      on.config.threads = count;
      set_keys(on, checksums_(on.config.dataset), *catalogue);
      add();
    }
  }
  return members;
}

}  // namespace approx
