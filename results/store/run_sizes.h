// How much of the disk runs took, by what a store holds: what a plan goes by.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/config/run_config.h"

namespace approx {

class RunSizes {
 public:
  RunSizes() = default;

  // Of the runs of a store that ended with a result; of none where there is no store. Throws
  // Error(kDatabase).
  explicit RunSizes(const std::string& db);

  struct Size {
    int64_t kept = 0;        // in the database and in the run's folder, for good
    int64_t checkpoint = 0;  // one of them, of what is trained; 0 of a timing, which writes none
  };

  // The median of runs that are alike, else of those that are similar (results/store/run_times.h);
  // nothing where there are none. Their folders are looked into now.
  std::optional<Size> expected(const RunConfig& config) const;

 private:
  struct Sample {
    double in_database = 0;  // its share of the file
    std::string folder;
    int64_t parameters = 0;
  };

  std::map<std::string, std::vector<Sample>> alike_, similar_;
};

// Of the weights, of what the update rule remembers of each and of their average, in fp32.
int64_t checkpoint_bytes(const Recipe& recipe, int64_t parameters);

}  // namespace approx
