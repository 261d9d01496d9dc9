// How long runs took, by what a store holds: what a plan goes by.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/config/run_config.h"

namespace approx {

// What the configurations of runs have in common, as a text: of those that are alike, which differ
// in nothing but the seed; of those that are similar, which may differ in method, schedule,
// learning rate and target as well.
std::string alike_runs(const Json& config);
std::string similar_runs(const Json& config);

class RunTimes {
 public:
  RunTimes() = default;

  // Of the runs of a store that ended with a result; of none where there is no store. Throws
  // Error(kDatabase).
  explicit RunTimes(const std::string& db);

  void add(const RunConfig& config, double seconds);

  // Seconds that such a run takes, the start of its process included: the median of those that are
  // alike, else of those that are similar; nothing where there are none.
  std::optional<double> expected(const RunConfig& config) const;

 private:
  void add_json(const Json& config, double seconds);

  std::map<std::string, std::vector<double>> alike_, similar_;
};

}  // namespace approx
