#include "results/records/contents.h"

#include <algorithm>
#include <set>

#include "base/error.h"
#include "base/known_names.h"
#include "results/records/cells.h"
#include "results/records/items.h"
#include "results/records/sound_numbers.h"

namespace approx {
namespace {

double number_at(SQLite::Statement& row, const char* column, int64_t run_id) {
  return sound_number(row.getColumn(column), of_run(run_id));
}

Curves read_curves(SQLite::Database& db, const std::string& metric) {
  const auto sound_value = metric == "accuracy" ? sound_share : sound_number;
  Curves curves;
  for_each_row(
      db,
      "SELECT run_id, split, step, train_ns, epoch, value FROM metric "
      "WHERE name = ?1 AND value IS NOT NULL ORDER BY run_id, split, step",
      [&](SQLite::Statement& row) {
        const int64_t run_id = integer_at(row, "run_id");
        curves[{run_id, text_at(row, "split")}].push_back(
            {.step = integer_at(row, "step"),
             .train_ns = sound_time(row.getColumn("train_ns"), of_run(run_id)),
             .epoch = number_at(row, "epoch", run_id),
             .value = sound_value(row.getColumn("value"), of_run(run_id))});
      },
      metric);
  return curves;
}

// Pairs of blocks in their order; the query names the columns run_id, dense_ns and approx_ns.
BlockPairs read_pairs(SQLite::Database& db, const std::string& sql) {
  BlockPairs pairs;
  for_each_row(db, sql, [&](SQLite::Statement& row) {
    const int64_t run_id = integer_at(row, "run_id");
    pairs[run_id].push_back({.dense_ns = number_at(row, "dense_ns", run_id),
                             .approx_ns = number_at(row, "approx_ns", run_id)});
  });
  return pairs;
}

void read_metrics(SQLite::Database& db, Measurements& measured) {
  measured.accuracy = read_curves(db, "accuracy");
  measured.loss = read_curves(db, "loss");
  for_each_row(db,
               "SELECT run_id, avg(value) AS density FROM metric WHERE name = 'gradient_density' "
               "AND value IS NOT NULL GROUP BY run_id",
               [&](SQLite::Statement& row) {
                 const int64_t run_id = integer_at(row, "run_id");
                 measured.gradient_density[run_id] = number_at(row, "density", run_id);
               });
  for_each_row(db,
               "SELECT run_id, step, sum(value) AS joules FROM metric WHERE name = 'energy' AND "
               "value IS NOT NULL GROUP BY run_id, step",
               [&](SQLite::Statement& row) {
                 const int64_t run_id = integer_at(row, "run_id");
                 measured.joules[run_id][integer_at(row, "step")] =
                     number_at(row, "joules", run_id);
               });
  for_each_row(db,
               "SELECT run_id, split, value FROM metric WHERE name = 'phase_share' AND "
               "value IS NOT NULL",
               [&](SQLite::Statement& row) {
                 const int64_t run_id = integer_at(row, "run_id");
                 measured.phases[run_id][text_at(row, "split")] = number_at(row, "value", run_id);
               });
}

Product product_at(SQLite::Statement& row) {
  try {
    return parse_product(text_at(row, "product"));
  } catch (const Error& error) {
    throw database_error("run {}: {}", integer_at(row, "run_id"), error.what());
  }
}

void read_layers(SQLite::Database& db, Measurements& measured) {
  for_each_row(db,
               "SELECT run_id, layer, product, method, calls, exact_calls, macs_dense, macs_done, "
               "density FROM layer_metric ORDER BY run_id, layer, product, method",
               [&](SQLite::Statement& row) {
                 const int64_t run_id = integer_at(row, "run_id");
                 measured.layers[run_id].push_back(
                     {.layer = text_at(row, "layer"),
                      .product = product_at(row),
                      .method = text_at(row, "method"),
                      .calls = integer_at(row, "calls"),
                      .exact_calls = integer_at(row, "exact_calls"),
                      .macs_dense = integer_at(row, "macs_dense"),
                      .macs_done = integer_at(row, "macs_done"),
                      .density = sound_number_or_none(row.getColumn("density"), of_run(run_id))});
               });
  for_each_row(
      db,
      "SELECT run_id, layer, product, plan, variant, calls FROM layer_variant "
      "ORDER BY run_id, layer, product, plan, variant",
      [&](SQLite::Statement& row) {
        measured.variants[integer_at(row, "run_id")].push_back({.layer = text_at(row, "layer"),
                                                                .product = product_at(row),
                                                                .plan = text_at(row, "plan"),
                                                                .variant = text_at(row, "variant"),
                                                                .calls = integer_at(row, "calls")});
      });
  for_each_row(db,
               "SELECT run_id, layer, calls, bytes, bytes_dense FROM layer_traffic "
               "ORDER BY run_id, layer",
               [&](SQLite::Statement& row) {
                 measured.traffic[integer_at(row, "run_id")].push_back(
                     {.layer = text_at(row, "layer"),
                      .calls = integer_at(row, "calls"),
                      .bytes = integer_at(row, "bytes"),
                      .bytes_dense = integer_at(row, "bytes_dense")});
               });
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

// The layers of each network that read the images.
std::map<std::string, std::set<std::string>> image_readers(const Catalogue& catalogue) {
  std::map<std::string, std::set<std::string>> readers;
  for (const auto& network : catalogue.networks) {
    for (const auto& layer : network.layers) {
      if (layer.reads_images) readers[network.name].insert(layer.name);
    }
  }
  return readers;
}

// Takes out the data gradients of layers that read the images: nobody computes them, and to count
// them as exact work makes every share of work too large. Runs are no longer recorded with them.
void drop_gradients_of_images(SQLite::Database& db, const Catalogue& catalogue,
                              Measurements& measured) {
  const auto readers = image_readers(catalogue);
  for_each_row(db, "SELECT r.run_id, c.network FROM run r JOIN cell c USING(cell_id)",
               [&](SQLite::Statement& row) {
                 const auto counts = measured.layers.find(integer_at(row, "run_id"));
                 if (counts == measured.layers.end()) return;
                 const auto of = readers.find(parse_spec(text_at(row, "network")).name);
                 if (of == readers.end()) return;
                 std::erase_if(counts->second, [&](const LayerCount& count) {
                   return count.product == Product::kDataGradient &&
                          of->second.contains(count.layer);
                 });
               });
}

Contents read_chosen(const Snapshot& snapshot, const CellChoice& choice) {
  Contents contents;
  auto stored = read_cells(snapshot, choice);
  contents.cells = std::move(stored.cells);
  contents.excluded = std::move(stored.left_out);
  for (auto& line : read_excluded(snapshot.db(), choice.experiment)) {
    contents.excluded.push_back(std::move(line));
  }
  contents.measured = snapshot.measurements(choice.catalogue);
  return contents;
}

}  // namespace

Measurements read_measurements(SQLite::Database& db, const Catalogue* catalogue) {
  Measurements measured;
  read_metrics(db, measured);
  measured.blocks = read_pairs(db,
                               "SELECT run_id, 1.0 * dense_ns / dense_steps AS dense_ns, "
                               "1.0 * approx_ns / approx_steps AS approx_ns "
                               "FROM v_timing ORDER BY run_id, pair");
  measured.backward =
      read_pairs(db,
                 "SELECT run_id, d.value AS dense_ns, a.value AS approx_ns "
                 "FROM metric d JOIN metric a USING(run_id, name, step) "
                 "WHERE name = 'backward_ns' AND d.split = 'dense' AND a.split = 'approx' AND "
                 "d.value > 0 AND a.value > 0 ORDER BY run_id, step");
  read_layers(db, measured);
  if (catalogue != nullptr) drop_gradients_of_images(db, *catalogue, measured);
  return measured;
}

const CurvePoint* first_reaching(const std::vector<CurvePoint>& points, double share) {
  const auto found = std::ranges::find_if(
      points, [share](const CurvePoint& point) { return point.value >= share; });
  return found == points.end() ? nullptr : &*found;
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
  return read_chosen(
      snapshot, {.experiment = experiment_name(snapshot.db(), experiment), .catalogue = catalogue});
}

Contents read_item_contents(const Snapshot& snapshot, const Experiment& item,
                            const Catalogue* catalogue) {
  const auto members = snapshot.items().members_of(item, catalogue);
  return read_chosen(
      snapshot,
      {.experiment = item.id, .item = &item, .members = &members, .catalogue = catalogue});
}

}  // namespace approx
