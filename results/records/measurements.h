// What the runs of a store measured.
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

// A metric after so many steps.
struct CurvePoint {
  int64_t step = 0, train_ns = 0;
  double epoch = 0, value = 0;
};

// The first that is no lower than `share`; null where there is none.
const CurvePoint* first_reaching(const std::vector<CurvePoint>& points, double share);

using Curves = std::map<std::string, std::vector<CurvePoint>>;  // by split

struct BlockPair {
  double dense_ns = 0, approx_ns = 0;  // of a step
};

// What one run measured; nothing of what it did not.
struct RunMeasurements {
  Curves accuracy, loss;
  std::vector<BlockPair> blocks, backward;  // backward: convolutions' gradients alone
  std::vector<LayerCount> layers;
  std::vector<VariantCount> variants;      // none of older runs
  std::vector<TrafficCount> traffic;       // none of one rank
  std::optional<double> gradient_density;  // mean over its epochs
  std::map<int64_t, double> joules;        // by step, of training so far
  std::map<std::string, double> phases;    // of a timing run: share of an exact step

  // The evaluations on a part of the data, "test"; empty where there is none.
  const std::vector<CurvePoint>& evaluations(const std::string& split) const;

  // Percent of the multiply-accumulates that were left out: of all layers and products, or of those
  // alone that are `approximated`. None where the run did not count.
  std::optional<double> compute_reduction(bool approximated = false) const;

  // Percent of the bytes of exact training that its ranks did not send: of all layers and of what
  // goes along with their gradients. None where the run did not count, as of one rank.
  std::optional<double> communication_reduction() const;

  // Whether it is certain by the counts that every product was the exact one: none with fewer
  // multiply-accumulates, none with another gradient or result in place of its own (a density,
  // which may be 1), and of the plans, where the run counted them, none but Dense. False where it
  // did not count what its layers did.
  bool approximated_nothing() const;
};

using Measurements = std::map<int64_t, std::shared_ptr<RunMeasurements>>;  // by run

// Snapshot::measurements reads it once.
Measurements read_measurements(SQLite::Database& db, const Catalogue* catalogue);

}  // namespace approx
