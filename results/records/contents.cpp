#include "results/records/contents.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include "base/error.h"
#include "base/known_names.h"
#include "core/config/run_key.h"
#include "core/experiment/iso_time.h"
#include "core/experiment/tuning.h"
#include "results/records/items.h"
#include "results/records/sound_numbers.h"

namespace approx {
namespace {

// An item chooses its rates also where another's runs are its own.
void see_tuned(const Experiment& item, const Members& members, std::map<int64_t, Cell>& cells) {
  if (!item.tuning) return;
  for (auto& [id, cell] : cells) {
    const auto member = members.find(cell.run_key);
    if (member != members.end()) cell.tuned |= member->second->tuned;
  }
}

// Gives a cell that an item plans the labels and the place that it has there.
void place_in(const Experiment& item, const PlannedRun& run, Cell& cell) {
  cell.planned = true;
  cell.method_label = run.method_label, cell.schedule_label = run.schedule_label;
  cell.network_label = run.network_label;
  cell.order = {0, &run - item.runs().data()};
  cell.target.reset();
  if (item.target) cell.target = item.target->value;
}

// The rate of a tuned experiment belongs to the row, like its method: rows with rates of their own
// are compared. That goes for all seeds of such a row, of whatever experiment.
void state_settings(std::map<int64_t, Cell>& cells) {
  using Trained = std::tuple<std::string, std::string, Settings, std::string, std::string>;
  const auto trained = [](const Cell& cell) {
    return Trained{cell.config.network, cell.config.dataset, cell.settings, cell.schedule,
                   cell.method};
  };
  std::set<Trained> tuned;
  for (const auto& [id, cell] : cells) {
    if (cell.tuned) tuned.insert(trained(cell));
  }
  for (auto& [id, cell] : cells) {
    cell.tuned = tuned.contains(trained(cell));
    for (const auto& [key, value] : cell.settings) {
      if (cell.must_equal(key)) cell.setting += key + "=" + value + ";";
    }
  }
}

// A cell as it stands in the row of a query, but for its runs.
Cell cell_of(const Snapshot& snapshot, SQLite::Statement& row) {
  Cell cell;
  cell.cell_id = integer_at(row, "cell_id");
  cell.run_key = text_at(row, "run_key");
  cell.config = snapshot.config(cell.cell_id, text_at(row, "config"));
  cell.method = arm_text(without_signs_of_zeros(cell.config.method), cell.config.selection);
  cell.schedule = schedule_text(cell.config.schedule);
  cell.settings = settings_of(cell.config);
  cell.method_label = text_at(row, "method_label");
  cell.schedule_label = text_at(row, "schedule_label");
  cell.network_label = text_at(row, "network_label");
  cell.order = {integer_at(row, "experiment_id"), integer_at(row, "position")};
  cell.target = optional_real(row.getColumn("target_value"));
  return cell;
}

// Those of an experiment ("": of all), and members of an item beside them, by their ids. A cell of
// several experiments stands in a row for each: it is what the first says, with the target of the
// last where no experiment was asked for.
std::map<int64_t, Cell> read_cell_rows(const Snapshot& snapshot, const std::string& experiment,
                                       const Members& members) {
  Json keys = Json::array();
  for (const auto& [key, run] : members) keys.push_back(key);
  std::map<int64_t, Cell> cells;
  for_each_row(
      snapshot.db(),
      "SELECT c.cell_id, c.run_key, c.config, m.method_label, m.schedule_label, m.network_label, "
      "e.experiment_id, m.position, e.target_value, "
      "EXISTS(SELECT 1 FROM experiment t WHERE t.name = iif(?1 = '', e.name, ?1) || ':tune') "
      "AS tuned "
      "FROM cell c JOIN experiment_cell m USING(cell_id) JOIN experiment e USING(experiment_id) "
      "WHERE (?1 = '' AND e.name NOT LIKE '%:tune') OR e.name = ?1 OR "
      "c.run_key IN (SELECT value FROM json_each(?2)) ORDER BY e.name <> ?1, e.experiment_id",
      [&](SQLite::Statement& row) {
        const auto [at, is_new] = cells.try_emplace(integer_at(row, "cell_id"));
        Cell& cell = at->second;
        if (is_new) cell = cell_of(snapshot, row);
        cell.tuned |= flag_at(row, "tuned");
        const auto target = optional_real(row.getColumn("target_value"));
        if (target && experiment.empty()) cell.target = target;
      },
      experiment, keys.dump());
  return cells;
}

// Gives the cells their attempts.
void read_attempts(const Snapshot& snapshot, const Catalogue* catalogue,
                   std::map<int64_t, Cell>& cells) {
  const auto& measured = snapshot.measurements(catalogue);
  for_each_row(
      snapshot.db(),
      "SELECT r.cell_id, r.run_id, r.attempt, r.host_id, coalesce(r.dataset_id, 0) AS dataset_id, "
      "r.state, r.ended_by, coalesce(d.lossy, 0) AS lossy, b.dirty, r.timing_valid, r.train_ns, "
      "r.step_ns_median, r.taint <> '[]' AS tainted, h.hostname, h.cpu_model, b.git_sha, "
      "r.started_utc, json_extract(r.environment, '$.batch_images') AS batch_images, "
      "coalesce(json_extract(r.environment, '$.engine.library'), '') AS library, "
      "coalesce(d.variant, '') AS variant, "
      "coalesce(json_extract(r.environment, '$.engine.kernel_rules'), 1) AS kernel_rules, "
      "json_extract(r.environment, '$.engine.device_time') IS NULL AS no_device_time "
      "FROM run r JOIN build b USING(build_id) JOIN host h USING(host_id) "
      "LEFT JOIN dataset d USING(dataset_id) ORDER BY r.cell_id, r.attempt",
      [&](SQLite::Statement& row) {
        const auto cell = cells.find(integer_at(row, "cell_id"));
        if (cell == cells.end()) return;
        const RunConfig& config = cell->second.config;
        Run& run = cell->second.runs.emplace_back();
        run.run_id = integer_at(row, "run_id");
        const auto of_run_id = measured.find(run.run_id);
        if (of_run_id != measured.end()) run.measured = of_run_id->second;
        run.attempt = integer_at(row, "attempt");
        run.host_id = integer_at(row, "host_id");
        run.dataset_id = integer_at(row, "dataset_id");
        run.state = stored_run_state(text_at(row, "state"));
        run.ended_by = find_named<EarlyEnd>(text_at(row, "ended_by"));
        run.lossy = flag_at(row, "lossy");
        run.dirty = flag_at(row, "dirty");
        run.timing_valid = flag_at(row, "timing_valid");
        run.tainted = flag_at(row, "tainted");
        const NumberOwner owner = of_run(run.run_id);
        run.train_ns = sound_time_or_none(row.getColumn("train_ns"), owner);
        run.step_ns_median = sound_number_or_none(row.getColumn("step_ns_median"), owner);
        run.batch_images = sound_time_or_none(row.getColumn("batch_images"), owner);
        run.host = text_at(row, "hostname");
        run.cpu = text_at(row, "cpu_model");
        run.git_sha = text_at(row, "git_sha");
        run.started_utc = text_at(row, "started_utc");
        run.library = text_at(row, "library");
        run.data_variant = text_at(row, "variant");
        run.earlier_rules = config.kernel_rules.empty() &&
                            row.getColumn("kernel_rules").getInt64() < rules_version_of(config);
        run.short_seconds = config.purpose == Purpose::kAccuracy &&
                            config.device != DeviceKind::kCpu && flag_at(row, "no_device_time");
      });
}

// Sets Run::earlier_version of the attempts: whether the key of the cell is one that its
// configuration and its data had under such a version (earlier_keys).
void mark_earlier_versions(SQLite::Database& db, const Catalogue& catalogue,
                           std::map<int64_t, Cell>& cells) {
  std::set<std::string> methods;  // with such versions
  for (const auto& method : catalogue.methods) {
    if (method.rounding_since > 0 || method.half_rounding_since > 0) methods.insert(method.name);
  }
  if (methods.empty()) return;
  std::map<int64_t, std::string> digests;
  for_each_row(db, "SELECT dataset_id, sha256 FROM dataset", [&](SQLite::Statement& row) {
    digests[integer_at(row, "dataset_id")] = text_at(row, "sha256");
  });
  const auto is_one = [&](const std::string& text) {
    return !text.empty() && methods.contains(parse_spec(text).name);
  };
  for (auto& [id, cell] : cells) {
    const bool any = is_one(cell.config.method) ||
                     std::ranges::any_of(cell.config.schedule, is_one, &Rule::method);
    if (!any) continue;  // hashing takes longer
    for (auto& run : cell.runs) {
      const auto earlier = earlier_keys(cell.config, digests[run.dataset_id], catalogue);
      run.earlier_version = std::ranges::any_of(earlier, [&](const EarlierKey& each) {
        return each.other_version && each.key == cell.run_key;
      });
    }
  }
}

// In the order of their places.
std::vector<Cell> sorted(std::map<int64_t, Cell> cells, const Experiment* item,
                         const Members& members) {
  std::vector<Cell> sorted;
  for (auto& [id, cell] : cells) {
    if (item != nullptr) {
      // What is under the item's name and not planned stands behind what is.
      cell.order = {1, cell.order.second};
      const auto member = members.find(cell.run_key);
      if (member != members.end()) place_in(*item, *member->second, cell);
    }
    sorted.push_back(std::move(cell));
  }
  std::ranges::stable_sort(sorted, {}, &Cell::order);
  return sorted;
}

// What is planned now is newer than what is not. Of that a result stays until there is a new one
// (an earlier version may count, as by earlier kernel rules); then what was planned later.
using Age = std::tuple<bool, bool, int64_t>;

Age age_of(const Cell& cell) {
  const Run* run = cell.run();
  const bool has_result = run != nullptr && run->result();
  return {cell.planned, cell.planned && has_result, cell.cell_id};
}

// Of the cells that have a key alike the newest one.
template <typename KeyOf>
auto newest_of(const std::vector<Cell>& cells, const KeyOf& key_of) {
  std::map<decltype(key_of(cells.front())), const Cell*> newest;
  for (const auto& cell : cells) {
    const Cell*& known = newest[key_of(cell)];
    if (known == nullptr || age_of(*known) < age_of(cell)) known = &cell;
  }
  return newest;
}

bool equally_written(const RunConfig& a, const RunConfig& b) {
  return a.recipe == b.recipe && a.schedule == b.schedule && a.method == b.method &&
         a.selection == b.selection;
}

// A cell planned again under another key with the same settings is of a later version of the
// method, the network, the data or the kernel rules, or its settings were written differently: what
// the earlier one measured is no further seed. Takes the earlier ones out; a line for each method
// that had some.
std::vector<std::string> drop_superseded(std::vector<Cell>& cells) {
  const auto key_of = [](const Cell& cell) {
    const RunConfig& config = cell.config;
    return std::tuple{config.network,     config.dataset,       cell.setting,   cell.schedule,
                      cell.method,        config.purpose,       config.seed,    config.blocks,
                      config.block_steps, config.timed_against, config.stop_at, config.patience};
  };
  const auto newest = newest_of(cells, key_of);
  std::map<std::string, int64_t> dropped, doubled;  // by their methods
  std::set<int64_t> kept;
  for (const auto& [key, cell] : newest) kept.insert(cell->cell_id);
  const auto is_old = [&](const Cell& cell) { return !kept.contains(cell.cell_id); };
  for (const auto& cell : cells) {
    if (!is_old(cell) || cell.runs.empty()) continue;
    ++(equally_written(newest.at(key_of(cell))->config, cell.config) ? dropped
                                                                     : doubled)[cell.method_label];
  }
  std::erase_if(cells, is_old);
  std::vector<std::string> lines;
  const auto add = [&lines](const auto& counts, const char* why) {
    for (const auto& [method, count] : counts) {
      lines.push_back(fmt::format("left out: {} of {}, {}",
                                  count == 1 ? "a run" : fmt::format("{} runs", count), method,
                                  why));
    }
  };
  add(dropped,
      "measured with earlier data or an earlier version of method, network or kernel rules");
  add(doubled, "stored a second time with settings that are written differently");
  return lines;
}

// An experiment keeps what an earlier text of its file ran. Where that has the labels of what is
// planned now but is something else, such as a schedule that was changed, its label says so.
void mark_earlier(std::vector<Cell>& cells, bool of_item) {
  const auto key_of = [of_item](const Cell& cell) {
    return std::tuple{of_item ? 0 : cell.order.first,
                      cell.network_label,
                      cell.config.dataset,
                      cell.setting,
                      cell.schedule_label,
                      cell.method_label};
  };
  const auto newest = newest_of(cells, key_of);
  for (auto& cell : cells) {
    const Cell& now = *newest.at(key_of(cell));
    std::string* label = cell.schedule != now.schedule               ? &cell.schedule_label
                         : cell.method != now.method                 ? &cell.method_label
                         : cell.config.network != now.config.network ? &cell.network_label
                                                                     : nullptr;
    if (label != nullptr) *label += " (earlier)";
  }
}

// A line for each group of runs that an experiment leaves out.
std::vector<std::string> read_excluded(SQLite::Database& db, const std::string& experiment) {
  std::vector<std::string> lines;
  for_each_row(
      db,
      "SELECT m.network_label AS network, m.dataset AS dataset, m.schedule_label AS schedule, "
      "m.method_label AS method, m.excluded AS reason, count(*) AS runs "
      "FROM experiment_cell m JOIN experiment e USING(experiment_id) "
      "WHERE m.cell_id IS NULL AND (?1 = '' OR e.name = ?1) GROUP BY 1, 2, 3, 4, 5 "
      "ORDER BY min(e.experiment_id), min(m.position)",
      [&](SQLite::Statement& row) {
        const LabelKey labels{.method = text_at(row, "method"),
                              .schedule = text_at(row, "schedule"),
                              .network = text_at(row, "network")};
        lines.push_back(fmt::format("left out: {} on {} / {} ({} runs): {}", row_text(labels),
                                    labels.network, text_at(row, "dataset"),
                                    integer_at(row, "runs"), text_at(row, "reason")));
      },
      experiment);
  return lines;
}

std::vector<LabelKey> read_untuned(SQLite::Database& db, const std::string& experiment) {
  std::vector<LabelKey> arms;
  for_each_row(
      db,
      "SELECT DISTINCT m.network_label AS network, m.schedule_label AS schedule, m.method_label AS "
      "method FROM experiment_cell m JOIN experiment e USING(experiment_id) WHERE m.excluded = ?2 "
      "AND m.purpose = 'accuracy' AND (?1 = '' OR e.name = ?1) ORDER BY 1, 2, 3",
      [&](SQLite::Statement& row) {
        LabelKey arm{.method = text_at(row, "method"),
                     .schedule = text_at(row, "schedule"),
                     .network = text_at(row, "network")};
        if (!is_exact_control(arm.method)) arms.push_back(std::move(arm));
      },
      experiment, std::string(kNotTuned));
  return arms;
}

// `item`: the experiment is its own; may be null. `catalogue`: knows the versions of methods that
// count; may be null.
Contents read_chosen(const Snapshot& snapshot, const std::string& experiment,
                     const Experiment* item, const Catalogue* catalogue) {
  const auto members = item != nullptr ? snapshot.items().members_of(*item, catalogue) : Members();
  auto cells = read_cell_rows(snapshot, experiment, members);
  read_attempts(snapshot, catalogue, cells);
  if (catalogue != nullptr) mark_earlier_versions(snapshot.db(), *catalogue, cells);
  if (item != nullptr) see_tuned(*item, members, cells);
  state_settings(cells);
  Contents contents{.cells = sorted(std::move(cells), item, members),
                    .excluded = {},
                    .targets = read_targets(snapshot.db(), experiment),
                    .untuned = read_untuned(snapshot.db(), experiment)};
  contents.excluded = drop_superseded(contents.cells);
  mark_earlier(contents.cells, item != nullptr);
  for (auto& line : read_excluded(snapshot.db(), experiment)) {
    contents.excluded.push_back(std::move(line));
  }
  return contents;
}

}  // namespace

std::string setting_of(const Settings& settings, std::string_view name) {
  const auto found = std::ranges::find(settings, name, &Settings::value_type::first);
  return found == settings.end() ? "" : found->second;
}

std::string schedule_text(const std::vector<Rule>& rules) {
  Json json = Json::array();
  for (const auto& rule : rules) {
    json.push_back(respelled(rule));
    json.back()["method"] = without_signs_of_zeros(rule.method);
  }
  return json.dump();
}

Settings settings_of(const RunConfig& config) {
  const auto text = [](auto value) { return std::string(name(value)); };
  Settings settings = {{"split", text(config.split)},
                       {"train_examples", std::to_string(config.train_examples)}};
  if (config.train_examples != 0) {
    settings.emplace_back("train_subset", text(config.train_subset));
  }
  settings.insert(settings.end(), {{"batch_size", std::to_string(config.batch_size)},
                                   {"precision", text(config.precision)},
                                   {"threads", std::to_string(config.threads)},
                                   {"device", text(config.device)}});
  if (config.ranks != 1) {
    settings.emplace_back("ranks", std::to_string(config.ranks));
    settings.emplace_back("norm_statistics", text(config.norm_statistics));
  }
  if (config.operators != OperatorSet::kBest) {
    settings.emplace_back("operators", text(config.operators));
  }
  if (config.graphs == GraphUse::kOff && config.device == DeviceKind::kCuda) {
    settings.emplace_back("graphs", text(config.graphs));
  }
  if (auto rules = kernel_rules_label(config.kernel_rules); !rules.empty()) {
    settings.emplace_back("kernel_rules", std::move(rules));
  }
  const Json recipe = canonical(config.recipe);
  for (const auto& [key, value] : recipe.items()) {
    settings.emplace_back(key, value.is_string() ? value.get<std::string>() : value.dump());
  }
  return settings;
}

const std::vector<CurvePoint>& Cell::judged() const {
  const auto& holdout = run()->measured->evaluations("holdout");
  return config.split == SplitKind::kHoldout && !holdout.empty()
             ? holdout
             : run()->measured->evaluations("test");
}

std::optional<double> Cell::final_accuracy() const {
  const Run* run = this->run();
  if (!is(Purpose::kAccuracy) || may_end_early(config)) return std::nullopt;
  if (run == nullptr || !run->finished()) return std::nullopt;
  const auto& tests = run->measured->evaluations("test");
  return tests.empty() ? std::nullopt : std::optional(100 * tests.back().value);
}

std::optional<double> Cell::best_accuracy() const {
  if (!final_accuracy()) return std::nullopt;
  const auto best = std::ranges::max_element(judged(), {}, &CurvePoint::value);
  for (const auto& test : run()->measured->evaluations("test")) {
    if (test.step == best->step) return 100 * test.value;
  }
  return std::nullopt;
}

std::string experiment_name(SQLite::Database& db, const std::string& given) {
  if (given.empty()) return "";
  std::string name = given.starts_with("@") ? given.substr(1) : given;
  std::vector<std::string> known;
  for_each_row(db, "SELECT name FROM experiment ORDER BY name",
               [&](SQLite::Statement& row) { known.push_back(text_at(row, 0)); });
  if (std::find(known.begin(), known.end(), name) != known.end()) return name;
  throw usage_error("no experiment \"{}\" in the store{}", name,
                    known.empty() ? ", which has none" : known_names(name, known));
}

Contents read_contents(const Snapshot& snapshot, const std::string& experiment,
                       const Catalogue* catalogue) {
  return read_chosen(snapshot, experiment_name(snapshot.db(), experiment), nullptr, catalogue);
}

Contents read_item_contents(const Snapshot& snapshot, const Experiment& item,
                            const Catalogue* catalogue) {
  return read_chosen(snapshot, item.id, &item, catalogue);
}

}  // namespace approx
