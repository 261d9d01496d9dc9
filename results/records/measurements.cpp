#include "results/records/measurements.h"

#include <algorithm>
#include <set>

#include "base/error.h"
#include "core/config/dense.h"
#include "results/records/sound_numbers.h"
#include "results/store/database.h"

namespace approx {
namespace {

// As events and the store name the plan of the exact product.
constexpr std::string_view kExactPlan = "Dense";

class Reader {
 public:
  explicit Reader(SQLite::Database& db) : db_(db) {}

  Measurements read() {
    read_curves("accuracy", sound_share, &RunMeasurements::accuracy);
    read_curves("loss", sound_number, &RunMeasurements::loss);
    // Pairs of blocks in their order.
    read_pairs(
        "SELECT run_id, 1.0 * dense_ns / dense_steps AS dense_ns, "
        "1.0 * approx_ns / approx_steps AS approx_ns FROM v_timing ORDER BY run_id, pair",
        &RunMeasurements::blocks);
    read_pairs(
        "SELECT run_id, d.value AS dense_ns, a.value AS approx_ns "
        "FROM metric d JOIN metric a USING(run_id, name, step) "
        "WHERE name = 'backward_ns' AND d.split = 'dense' AND a.split = 'approx' AND "
        "d.value > 0 AND a.value > 0 ORDER BY run_id, step",
        &RunMeasurements::backward);
    read_metrics();
    read_layers();
    return std::move(measured_);
  }

 private:
  // Calls `take` for each row of a query, with what it measured of the run in its column run_id.
  template <typename Take>
  void of_runs(const std::string& sql, const Take& take) {
    for_each_row(db_, sql, [&](SQLite::Statement& row) {
      auto& run = measured_[integer_at(row, "run_id")];
      if (run == nullptr) run = std::make_shared<RunMeasurements>();
      take(row, *run);
    });
  }

  static NumberOwner owner(SQLite::Statement& row) { return of_run(integer_at(row, "run_id")); }
  static double number(SQLite::Statement& row, const char* column) {
    return sound_number(row.getColumn(column), owner(row));
  }

  void read_curves(const std::string& metric,
                   double (*sound)(const SQLite::Column&, const NumberOwner&),
                   Curves RunMeasurements::*curves) {
    of_runs(fmt::format("SELECT run_id, split, step, train_ns, epoch, value FROM metric WHERE "
                        "name = '{}' AND value IS NOT NULL ORDER BY run_id, split, step",
                        metric),
            [&](SQLite::Statement& row, RunMeasurements& run) {
              (run.*curves)[text_at(row, "split")].push_back(
                  {.step = integer_at(row, "step"),
                   .train_ns = sound_time(row.getColumn("train_ns"), owner(row)),
                   .epoch = number(row, "epoch"),
                   .value = sound(row.getColumn("value"), owner(row))});
            });
  }

  void read_pairs(const std::string& sql, std::vector<BlockPair> RunMeasurements::*pairs) {
    of_runs(sql, [&](SQLite::Statement& row, RunMeasurements& run) {
      (run.*pairs)
          .push_back({.dense_ns = number(row, "dense_ns"), .approx_ns = number(row, "approx_ns")});
    });
  }

  void read_metrics() {
    of_runs(
        "SELECT run_id, avg(value) AS density FROM metric WHERE name = 'gradient_density' AND "
        "value IS NOT NULL GROUP BY run_id",
        [](SQLite::Statement& row, RunMeasurements& run) {
          run.gradient_density = number(row, "density");
        });
    of_runs(
        "SELECT run_id, step, sum(value) AS joules FROM metric WHERE name = 'energy' AND value IS "
        "NOT NULL GROUP BY run_id, step",
        [](SQLite::Statement& row, RunMeasurements& run) {
          run.joules[integer_at(row, "step")] = number(row, "joules");
        });
    of_runs(
        "SELECT run_id, split, value FROM metric WHERE name = 'phase_share' AND value IS NOT NULL",
        [](SQLite::Statement& row, RunMeasurements& run) {
          run.phases[text_at(row, "split")] = number(row, "value");
        });
  }

  static Product product_at(SQLite::Statement& row) {
    try {
      return parse_product(text_at(row, "product"));
    } catch (const Error& error) {
      throw database_error("run {}: {}", integer_at(row, "run_id"), error.what());
    }
  }

  void read_layers() {
    of_runs(
        "SELECT run_id, layer, product, method, calls, exact_calls, macs_dense, macs_done, density "
        "FROM layer_metric ORDER BY run_id, layer, product, method",
        [](SQLite::Statement& row, RunMeasurements& run) {
          run.layers.push_back(
              {.layer = text_at(row, "layer"),
               .product = product_at(row),
               .method = text_at(row, "method"),
               .calls = integer_at(row, "calls"),
               .exact_calls = integer_at(row, "exact_calls"),
               .macs_dense = integer_at(row, "macs_dense"),
               .macs_done = integer_at(row, "macs_done"),
               .density = sound_number_or_none(row.getColumn("density"), owner(row))});
        });
    of_runs(
        "SELECT run_id, layer, product, plan, variant, calls FROM layer_variant "
        "ORDER BY run_id, layer, product, plan, variant",
        [](SQLite::Statement& row, RunMeasurements& run) {
          run.variants.push_back({.layer = text_at(row, "layer"),
                                  .product = product_at(row),
                                  .plan = text_at(row, "plan"),
                                  .variant = text_at(row, "variant"),
                                  .calls = integer_at(row, "calls")});
        });
    of_runs(
        "SELECT run_id, layer, calls, bytes, bytes_dense FROM layer_traffic ORDER BY run_id, layer",
        [](SQLite::Statement& row, RunMeasurements& run) {
          run.traffic.push_back({.layer = text_at(row, "layer"),
                                 .calls = integer_at(row, "calls"),
                                 .bytes = integer_at(row, "bytes"),
                                 .bytes_dense = integer_at(row, "bytes_dense")});
        });
  }

  SQLite::Database& db_;
  Measurements measured_;
};

// Takes out the data gradients of layers that read the images: nobody computes them, and to count
// them as exact work makes every share of work too large. Runs are no longer recorded with them.
void drop_gradients_of_images(SQLite::Database& db, const Catalogue& catalogue,
                              Measurements& measured) {
  std::map<std::string, std::set<std::string>> readers;  // by network
  for (const auto& network : catalogue.networks) {
    for (const auto& layer : network.layers) {
      if (layer.reads_images) readers[network.name].insert(layer.name);
    }
  }
  for_each_row(db, "SELECT r.run_id, c.network FROM run r JOIN cell c USING(cell_id)",
               [&](SQLite::Statement& row) {
                 const auto run = measured.find(integer_at(row, "run_id"));
                 const auto of = readers.find(parse_spec(text_at(row, "network")).name);
                 if (run == measured.end() || of == readers.end()) return;
                 std::erase_if(run->second->layers, [&](const LayerCount& count) {
                   return count.product == Product::kDataGradient &&
                          of->second.contains(count.layer);
                 });
               });
}

// Percent of what exact training has that was left out; none of nothing.
std::optional<double> reduction(double left, double dense) {
  return dense > 0 ? std::optional(100 * (1 - left / dense)) : std::nullopt;
}

}  // namespace

Measurements read_measurements(SQLite::Database& db, const Catalogue* catalogue) {
  Measurements measured = Reader(db).read();
  if (catalogue != nullptr) drop_gradients_of_images(db, *catalogue, measured);
  return measured;
}

const CurvePoint* first_reaching(const std::vector<CurvePoint>& points, double share) {
  const auto found = std::ranges::find_if(
      points, [share](const CurvePoint& point) { return point.value >= share; });
  return found == points.end() ? nullptr : &*found;
}

const std::vector<CurvePoint>& RunMeasurements::evaluations(const std::string& split) const {
  static const std::vector<CurvePoint> none;
  const auto found = accuracy.find(split);
  return found == accuracy.end() ? none : found->second;
}

std::optional<double> RunMeasurements::compute_reduction(bool approximated) const {
  double dense = 0, done = 0;
  for (const auto& count : layers) {
    if (approximated && is_dense(count.method)) continue;
    dense += static_cast<double>(count.macs_dense);
    done += static_cast<double>(count.macs_done);
  }
  return reduction(done, dense);
}

std::optional<double> RunMeasurements::communication_reduction() const {
  double dense = 0, sent = 0;
  for (const auto& count : traffic) {
    dense += static_cast<double>(count.bytes_dense);
    sent += static_cast<double>(count.bytes);
  }
  return reduction(sent, dense);
}

bool RunMeasurements::approximated_nothing() const {
  // A sample of all channels leaves nothing out, but its scales may change every term.
  const bool planned = std::ranges::any_of(
      variants, [](const VariantCount& count) { return count.plan != kExactPlan; });
  // A method that changes signs, adds noise or rounds leaves nothing out either: it has a density.
  return !layers.empty() && !planned && std::ranges::none_of(layers, [](const LayerCount& count) {
    return !is_dense(count.method) && (count.macs_done < count.macs_dense || count.density);
  });
}

}  // namespace approx
