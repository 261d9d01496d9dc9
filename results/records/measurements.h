// The measurements of the runs of a store.
#pragma once

#include <SQLiteCpp/SQLiteCpp.h>

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/config/catalogue.h"
#include "results/store/counts.h"

namespace approx {

// A metric after `step` steps.
struct CurvePoint {
  int64_t step = 0, train_ns = 0;
  double epoch = 0, value = 0;
};

// The first point whose value is at least `share`; null where there is none.
const CurvePoint* first_reaching(const std::vector<CurvePoint>& points, double share);

using Curves = std::map<std::string, std::vector<CurvePoint>>;  // by split

struct BlockPair {
  double dense_ns = 0, approx_ns = 0;  // of a step
};

// The measurements of one run. A member is empty where the run did not measure it.
struct RunMeasurements {
  Curves accuracy, loss;
  std::vector<BlockPair> blocks, backward;  // backward: convolutions' gradients alone
  std::vector<LayerCount> layers;
  std::vector<VariantCount> variants;      // none for older runs
  std::vector<TrafficCount> traffic;       // none for a run of one rank
  std::optional<double> gradient_density;  // mean over its epochs
  std::map<int64_t, double> joules;        // by step, of training so far
  std::map<std::string, double> phases;    // of a timing run: shares of an exact step

  // The evaluations on one part of the data, such as "test"; empty where there are none.
  const std::vector<CurvePoint>& evaluations(const std::string& split) const;

  // Percent of the multiply-accumulates that were left out, over all layers and products, or over
  // `approximated` ones only. None where the run did not count them.
  std::optional<double> compute_reduction(bool approximated = false) const;

  // Percent of the bytes of exact training that its ranks did not send. Counts all layers and the
  // data sent along with their gradients. None where the run did not count bytes, as with one rank.
  std::optional<double> communication_reduction() const;

  // Whether the counts prove that every product was exact. No product may have fewer
  // multiply-accumulates or a replaced gradient or result (it has a density then, perhaps 1). If
  // the run counted plans, all must be Dense. False where the run did not count its layers' work.
  bool approximated_nothing() const;
};

using Measurements = std::map<int64_t, std::shared_ptr<RunMeasurements>>;  // by run

// Reads the measurements of all runs. Snapshot::measurements calls it once.
Measurements read_measurements(SQLite::Database& db, const Catalogue* catalogue);

}  // namespace approx
