#include "results/reports/contents.h"

#include <algorithm>
#include <set>
#include <tuple>

#include "base/error.h"
#include "base/known_names.h"
#include "results/reports/sound_numbers.h"

namespace approx {
namespace {

// Recipes are JSON objects; anything else stands for itself.
void add_recipe(const std::string& recipe, Settings& settings) {
  const Json json = Json::parse(recipe, nullptr, /*allow_exceptions=*/false);
  if (!json.is_object()) {
    settings.emplace_back("recipe", recipe);
    return;
  }
  for (const auto& [key, value] : json.items()) {
    settings.emplace_back(key, value.is_string() ? value.get<std::string>() : value.dump());
  }
}

// What of a cell becomes its settings, as texts.
struct CellTexts {
  std::string split, train_examples, train_subset, batch_size, precision, threads, device, ranks,
      norm_statistics, operators, graphs, kernel_rules, recipe;
};

// In the order in which tables name them.
Settings settings_of(const CellTexts& cell) {
  Settings settings = {{"split", cell.split}, {"train_examples", cell.train_examples}};
  if (cell.train_examples != "0") settings.emplace_back("train_subset", cell.train_subset);
  settings.insert(settings.end(), {{"batch_size", cell.batch_size},
                                   {"precision", cell.precision},
                                   {"threads", cell.threads},
                                   {"device", cell.device}});
  // Of what came later the default is not named.
  if (cell.ranks != "1") {
    settings.emplace_back("ranks", cell.ranks);
    settings.emplace_back("norm_statistics", cell.norm_statistics);
  }
  if (cell.operators != name(OperatorSet::kBest))
    settings.emplace_back("operators", cell.operators);
  if (cell.graphs == name(GraphUse::kOff) && cell.device == name(DeviceKind::kCuda))
    settings.emplace_back("graphs", cell.graphs);
  const auto rules = kernel_rules_label(cell.kernel_rules);
  if (!rules.empty()) settings.emplace_back("kernel_rules", rules);
  add_recipe(cell.recipe, settings);
  return settings;
}

// Which cells are read: those of an experiment ("": of all), and members of an item.
struct Choice {
  std::string experiment;
  const Experiment* item = nullptr;
  const Members* members = nullptr;
  const Catalogue* catalogue = nullptr;
};

NumberOwner of_run(int64_t run_id) { return {.what = "run", .id = run_id}; }

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
    return Trained{cell.network, cell.dataset, cell.settings, cell.schedule, cell.method};
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

std::vector<Cell> read_cells(SQLite::Database& db, const Choice& choice) {
  const std::string& experiment = choice.experiment;
  Json keys = Json::array();
  if (choice.members != nullptr) {
    for (const auto& [key, run] : *choice.members) keys.push_back(key);
  }
  std::map<int64_t, Cell> cells;
  for_each_row(
      db,
      "SELECT c.cell_id, c.purpose, c.method, c.schedule, c.network, c.dataset, c.seed, c.split, "
      "c.train_examples, c.recipe, c.batch_size, c.precision, c.threads, c.device, m.method_label, "
      "m.schedule_label, m.network_label, e.experiment_id, m.position, e.target_value, "
      "coalesce(json_extract(c.config, '$.timed_against'), ''), "
      "coalesce(json_extract(c.config, '$.blocks'), '') || 'x' || "
      "coalesce(json_extract(c.config, '$.block_steps'), ''), c.run_key, c.train_subset, "
      "EXISTS(SELECT 1 FROM experiment t WHERE t.name = iif(?1 = '', e.name, ?1) || ':tune'), "
      "coalesce(json_extract(c.config, '$.kernel_rules'), ''), "
      "coalesce(json_extract(c.config, '$.operators'), ?3), c.stop_at, "
      "coalesce(json_extract(c.config, '$.graphs'), ''), "
      "coalesce(json_extract(c.config, '$.ranks'), 1), "
      "coalesce(json_extract(c.config, '$.norm_statistics'), ?4) "
      "FROM cell c JOIN experiment_cell m USING(cell_id) JOIN experiment e USING(experiment_id) "
      "WHERE (?1 = '' AND e.name NOT LIKE '%:tune') OR e.name = ?1 OR "
      "c.run_key IN (SELECT value FROM json_each(?2)) ORDER BY e.name <> ?1, e.experiment_id",
      [&](SQLite::Statement& row) {
        Cell& cell = cells[row.getColumn(0).getInt64()];
        const auto target = optional_real(row.getColumn(19));
        cell.tuned |= row.getColumn(24).getInt() != 0;
        if (target && experiment.empty()) cell.target = target;
        if (cell.cell_id == 0) {
          cell.cell_id = row.getColumn(0).getInt64();
          cell.purpose = text_at(row, 1), cell.method = text_at(row, 2);
          cell.schedule = text_at(row, 3), cell.network = text_at(row, 4);
          cell.dataset = text_at(row, 5), cell.seed = row.getColumn(6).getInt64();
          cell.split = text_at(row, 7), cell.recipe = text_at(row, 9);
          cell.batch_size = row.getColumn(10).getInt64();
          cell.timed_against = text_at(row, 20), cell.blocks = text_at(row, 21);
          cell.run_key = text_at(row, 22);
          cell.stop_at = row.getColumn(27).getDouble();
          cell.stock = text_at(row, 26) == name(OperatorSet::kLibrary);
          cell.settings = settings_of({.split = cell.split,
                                       .train_examples = text_at(row, 8),
                                       .train_subset = text_at(row, 23),
                                       .batch_size = text_at(row, 10),
                                       .precision = text_at(row, 11),
                                       .threads = text_at(row, 12),
                                       .device = text_at(row, 13),
                                       .ranks = text_at(row, 29),
                                       .norm_statistics = text_at(row, 30),
                                       .operators = text_at(row, 26),
                                       .graphs = text_at(row, 28),
                                       .kernel_rules = text_at(row, 25),
                                       .recipe = cell.recipe});
          cell.method_label = text_at(row, 14), cell.schedule_label = text_at(row, 15);
          cell.network_label = text_at(row, 16);
          cell.order = {row.getColumn(17).getInt64(), row.getColumn(18).getInt64()};
          cell.target = target;
        }
      },
      experiment, keys.dump(), std::string(name(OperatorSet::kBest)),
      std::string(name(NormScope::kLocal)));
  for_each_row(
      db,
      "SELECT r.cell_id, r.run_id, r.attempt, r.host_id, coalesce(r.dataset_id, 0), "
      "r.state, coalesce(d.lossy, 0), b.dirty, r.timing_valid, r.train_ns, "
      "r.step_ns_median, r.taint <> '[]', h.hostname, b.git_sha, r.started_utc, "
      "coalesce(json_extract(r.environment, '$.engine.library'), ''), "
      "coalesce(d.variant, ''), "
      "coalesce(json_extract(r.environment, '$.engine.kernel_rules'), 1) < ?1 AND "
      "coalesce(json_extract(c.config, '$.kernel_rules'), '') = '', h.cpu_model "
      "FROM run r JOIN cell c USING(cell_id) "
      "JOIN build b USING(build_id) JOIN host h USING(host_id) "
      "LEFT JOIN dataset d USING(dataset_id) ORDER BY r.cell_id, r.attempt",
      [&](SQLite::Statement& row) {
        const auto cell = cells.find(row.getColumn(0).getInt64());
        if (cell == cells.end()) return;
        Run& run = cell->second.runs.emplace_back();
        run.run_id = row.getColumn(1).getInt64();
        run.attempt = row.getColumn(2).getInt64();
        run.host_id = row.getColumn(3).getInt64();
        run.dataset_id = row.getColumn(4).getInt64();
        run.state = stored_run_state(text_at(row, 5));
        run.lossy = row.getColumn(6).getInt() != 0;
        run.dirty = row.getColumn(7).getInt() != 0;
        run.timing_valid = row.getColumn(8).getInt() != 0;
        run.train_ns = sound_time_or_none(row.getColumn(9), of_run(run.run_id));
        run.step_ns_median = sound_number_or_none(row.getColumn(10), of_run(run.run_id));
        run.tainted = row.getColumn(11).getInt() != 0;
        run.host = text_at(row, 12), run.git_sha = text_at(row, 13);
        run.started_utc = text_at(row, 14), run.library = text_at(row, 15);
        run.data_variant = text_at(row, 16);
        run.earlier_rules = row.getColumn(17).getInt() != 0;
        run.cpu = text_at(row, 18);
      },
      kernel_rules_version());
  if (choice.item != nullptr) see_tuned(*choice.item, *choice.members, cells);
  state_settings(cells);
  std::vector<Cell> sorted;
  for (auto& [id, cell] : cells) {
    if (choice.item != nullptr) {
      // What is under the item's name and not planned stands behind what is.
      cell.order = {1, cell.order.second};
      const auto member = choice.members->find(cell.run_key);
      if (member != choice.members->end()) place_in(*choice.item, *member->second, cell);
    }
    sorted.push_back(std::move(cell));
  }
  std::stable_sort(sorted.begin(), sorted.end(),
                   [](const Cell& a, const Cell& b) { return a.order < b.order; });
  return sorted;
}

// What is planned now is newer than what is not, then what was planned later.
std::pair<bool, int64_t> age_of(const Cell& cell) { return {cell.planned, cell.cell_id}; }

// A cell planned again under another key with the same settings is of a later version of the
// method, the network, the data or the kernel rules: what the earlier one measured is no further
// seed. Takes the earlier ones out; a line for each method that had some.
std::vector<std::string> drop_superseded(std::vector<Cell>& cells) {
  using Key = std::tuple<std::string, std::string, std::string, std::string, std::string,
                         std::string, int64_t, std::string, std::string, double>;
  const auto key_of = [](const Cell& cell) {
    return Key{cell.network, cell.dataset, cell.setting, cell.schedule,      cell.method,
               cell.purpose, cell.seed,    cell.blocks,  cell.timed_against, cell.stop_at};
  };
  std::map<Key, const Cell*> newest;
  for (const auto& cell : cells) {
    auto& known = newest[key_of(cell)];
    if (known == nullptr || age_of(*known) < age_of(cell)) known = &cell;
  }
  std::map<std::string, int64_t> dropped;
  std::set<int64_t> kept;
  for (const auto& [key, cell] : newest) kept.insert(cell->cell_id);
  const auto is_old = [&](const Cell& cell) { return !kept.contains(cell.cell_id); };
  for (const auto& cell : cells) {
    if (is_old(cell) && !cell.runs.empty()) ++dropped[cell.method_label];
  }
  cells.erase(std::remove_if(cells.begin(), cells.end(), is_old), cells.end());
  std::vector<std::string> lines;
  for (const auto& [method, count] : dropped) {
    lines.push_back(
        fmt::format("left out: {} of {}, measured with earlier data or an earlier version of "
                    "method, network or kernel rules",
                    count == 1 ? "a run" : fmt::format("{} runs", count), method));
  }
  return lines;
}

// An experiment keeps what an earlier text of its file ran. Where that has the labels of what is
// planned now but is something else, such as a schedule that was changed, its label says so.
void mark_earlier(std::vector<Cell>& cells, bool of_item) {
  struct Newest {
    std::pair<bool, int64_t> age;
    std::string network, schedule, method;
  };
  using Key = std::tuple<int64_t, std::string, std::string, std::string, std::string, std::string>;
  const auto key_of = [of_item](const Cell& cell) {
    return Key{of_item ? 0 : cell.order.first,
               cell.network_label,
               cell.dataset,
               cell.setting,
               cell.schedule_label,
               cell.method_label};
  };
  std::map<Key, Newest> newest;
  for (const auto& cell : cells) {
    auto& known = newest[key_of(cell)];
    if (age_of(cell) > known.age) {
      known = {age_of(cell), cell.network, cell.schedule, cell.method};
    }
  }
  for (auto& cell : cells) {
    const Newest& now = newest.at(key_of(cell));
    std::string* label = cell.schedule != now.schedule ? &cell.schedule_label
                         : cell.method != now.method   ? &cell.method_label
                         : cell.network != now.network ? &cell.network_label
                                                       : nullptr;
    if (label != nullptr) *label += " (earlier)";
  }
}

Curves read_curves(SQLite::Database& db, const std::string& metric) {
  const auto sound_value = metric == "accuracy" ? sound_share : sound_number;
  Curves curves;
  for_each_row(
      db,
      "SELECT run_id, split, step, train_ns, epoch, value FROM metric "
      "WHERE name = ?1 AND value IS NOT NULL ORDER BY run_id, split, step",
      [&](SQLite::Statement& row) {
        const int64_t run_id = row.getColumn(0).getInt64();
        curves[{run_id, text_at(row, 1)}].push_back(
            {row.getColumn(2).getInt64(), sound_time(row.getColumn(3), of_run(run_id)),
             sound_number(row.getColumn(4), of_run(run_id)),
             sound_value(row.getColumn(5), of_run(run_id))});
      },
      metric);
  return curves;
}

// Takes out the data gradients of layers that read the images: nobody computes them, and to count
// them as exact work makes every share of work too large. Runs are no longer recorded with them.
void drop_gradients_of_images(Contents& contents, const Catalogue& catalogue) {
  for (const auto& cell : contents.cells) {
    std::set<std::string> readers;
    const std::string wanted = parse_spec(cell.network).name;
    for (const auto& network : catalogue.networks) {
      if (network.name != wanted) continue;
      for (const auto& layer : network.layers) {
        if (layer.reads_images) readers.insert(layer.name);
      }
    }
    for (const auto& run : cell.runs) {
      const auto counts = contents.layers.find(run.run_id);
      if (counts == contents.layers.end()) continue;
      std::erase_if(counts->second, [&](const LayerCount& count) {
        return count.product == name(Product::kDataGradient) && readers.contains(count.layer);
      });
    }
  }
}

Contents read_chosen(SQLite::Database& db, const Choice& choice) {
  const std::string& experiment = choice.experiment;
  Contents contents;
  contents.cells = read_cells(db, choice);
  contents.excluded = drop_superseded(contents.cells);
  mark_earlier(contents.cells, choice.item != nullptr);
  contents.accuracy = read_curves(db, "accuracy");
  contents.loss = read_curves(db, "loss");
  for_each_row(
      db,
      "SELECT run_id, 1.0 * dense_ns / dense_steps, 1.0 * approx_ns / approx_steps "
      "FROM v_timing ORDER BY run_id, pair",
      [&](SQLite::Statement& row) {
        const int64_t run_id = row.getColumn(0).getInt64();
        contents.blocks[run_id].push_back({sound_number(row.getColumn(1), of_run(run_id)),
                                           sound_number(row.getColumn(2), of_run(run_id))});
      });
  for_each_row(
      db,
      "SELECT run_id, d.value, a.value FROM metric d JOIN metric a USING(run_id, name, step) "
      "WHERE name = 'backward_ns' AND d.split = 'dense' AND a.split = 'approx' AND "
      "d.value > 0 AND a.value > 0 ORDER BY run_id, step",
      [&](SQLite::Statement& row) {
        const int64_t run_id = row.getColumn(0).getInt64();
        contents.backward[run_id].push_back({sound_number(row.getColumn(1), of_run(run_id)),
                                             sound_number(row.getColumn(2), of_run(run_id))});
      });
  for_each_row(db,
               "SELECT run_id, avg(value) FROM metric WHERE name = 'gradient_density' AND "
               "value IS NOT NULL GROUP BY run_id",
               [&](SQLite::Statement& row) {
                 const int64_t run_id = row.getColumn(0).getInt64();
                 contents.gradient_density[run_id] = sound_number(row.getColumn(1), of_run(run_id));
               });
  for_each_row(db,
               "SELECT run_id, step, sum(value) FROM metric WHERE name = 'energy' AND "
               "value IS NOT NULL GROUP BY run_id, step",
               [&](SQLite::Statement& row) {
                 const int64_t run_id = row.getColumn(0).getInt64();
                 contents.joules[run_id][row.getColumn(1).getInt64()] =
                     sound_number(row.getColumn(2), of_run(run_id));
               });
  for_each_row(db,
               "SELECT run_id, split, value FROM metric WHERE name = 'phase_share' AND "
               "value IS NOT NULL",
               [&](SQLite::Statement& row) {
                 const int64_t run_id = row.getColumn(0).getInt64();
                 contents.phases[run_id][text_at(row, 1)] =
                     sound_number(row.getColumn(2), of_run(run_id));
               });
  for_each_row(db,
               "SELECT run_id, layer, product, method, calls, exact_calls, macs_dense, macs_done, "
               "density FROM layer_metric ORDER BY run_id, layer, product, method",
               [&](SQLite::Statement& row) {
                 const int64_t run_id = row.getColumn(0).getInt64();
                 LayerCount& count = contents.layers[run_id].emplace_back();
                 count.layer = text_at(row, 1), count.product = text_at(row, 2);
                 count.method = text_at(row, 3), count.calls = row.getColumn(4).getInt64();
                 count.exact_calls = row.getColumn(5).getInt64();
                 count.macs_dense = row.getColumn(6).getInt64();
                 count.macs_done = row.getColumn(7).getInt64();
                 count.density = sound_number_or_none(row.getColumn(8), of_run(run_id));
               });
  for_each_row(db,
               "SELECT run_id, layer, product, plan, variant, calls FROM layer_variant "
               "ORDER BY run_id, layer, product, plan, variant",
               [&](SQLite::Statement& row) {
                 contents.variants[row.getColumn(0).getInt64()].push_back(
                     {.layer = text_at(row, 1),
                      .product = text_at(row, 2),
                      .plan = text_at(row, 3),
                      .variant = text_at(row, 4),
                      .calls = row.getColumn(5).getInt64()});
               });
  for_each_row(db,
               "SELECT run_id, layer, calls, bytes, bytes_dense FROM layer_traffic "
               "ORDER BY run_id, layer",
               [&](SQLite::Statement& row) {
                 contents.traffic[row.getColumn(0).getInt64()].push_back(
                     {.layer = text_at(row, 1),
                      .calls = row.getColumn(2).getInt64(),
                      .bytes = row.getColumn(3).getInt64(),
                      .bytes_dense = row.getColumn(4).getInt64()});
               });
  if (choice.catalogue != nullptr) drop_gradients_of_images(contents, *choice.catalogue);
  for_each_row(
      db,
      "SELECT m.network_label, m.dataset, m.schedule_label, m.method_label, m.excluded, count(*) "
      "FROM experiment_cell m JOIN experiment e USING(experiment_id) "
      "WHERE m.cell_id IS NULL AND (?1 = '' OR e.name = ?1) GROUP BY 1, 2, 3, 4, 5 "
      "ORDER BY min(e.experiment_id), min(m.position)",
      [&](SQLite::Statement& row) {
        std::string what = text_at(row, 3);
        if (!text_at(row, 2).empty()) what += ", " + text_at(row, 2);
        contents.excluded.push_back(fmt::format("left out: {} on {} / {} ({} runs): {}", what,
                                                text_at(row, 0), text_at(row, 1),
                                                row.getColumn(5).getInt64(), text_at(row, 4)));
      },
      experiment);
  return contents;
}

}  // namespace

const CurvePoint* first_reaching(const std::vector<CurvePoint>& points, double share) {
  const auto found = std::ranges::find_if(
      points, [share](const CurvePoint& point) { return point.value >= share; });
  return found == points.end() ? nullptr : &*found;
}

Settings settings_of(const RunConfig& config) {
  const auto text = [](auto value) { return std::string(name(value)); };
  return settings_of({.split = text(config.split),
                      .train_examples = std::to_string(config.train_examples),
                      .train_subset = text(config.train_subset),
                      .batch_size = std::to_string(config.batch_size),
                      .precision = text(config.precision),
                      .threads = std::to_string(config.threads),
                      .device = text(config.device),
                      .ranks = std::to_string(config.ranks),
                      .norm_statistics = text(config.norm_statistics),
                      .operators = text(config.operators),
                      .graphs = text(config.graphs),
                      .kernel_rules = config.kernel_rules,
                      .recipe = Json(config.recipe).dump()});
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

Contents read_contents(const std::string& path, const ReportOptions& options) {
  auto db = open_snapshot(path);
  return read_chosen(
      db, {.experiment = experiment_name(db, options.experiment), .catalogue = options.catalogue});
}

Contents read_item_contents(const std::string& path, const Experiment& item, const Members& members,
                            const Catalogue* catalogue) {
  auto db = open_snapshot(path);
  return read_chosen(
      db, {.experiment = item.id, .item = &item, .members = &members, .catalogue = catalogue});
}

}  // namespace approx
