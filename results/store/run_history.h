// Durations and disk usage of the runs in a store, from which plans are made.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/config/run_config.h"

namespace approx {

// Samples of runs, searched by the configuration of another run.
template <typename Sample>
class LikeRuns {
 public:
  // Adds a sample, but keeps at most `most` among the like runs and among the similar runs.
  void add(const Json& config, const Sample& sample, size_t most = SIZE_MAX);

  // The samples of like runs, which differ only in the seed. If there are none: the samples of
  // similar runs, which may also differ in method, schedule, learning rate and target. Null where
  // there are none of either.
  const std::vector<Sample>* find(const RunConfig& config) const;

 private:
  // By the shared part of their configurations.
  std::map<std::string, std::vector<Sample>> samples_;
};

class RunTimes {
 public:
  RunTimes() = default;

  // Reads the runs of a store that ended with a result; none where there is no store. Throws
  // Error(kDatabase).
  explicit RunTimes(const std::string& db);

  void add(const RunConfig& config, double seconds);

  // Expected seconds of such a run, including the start of its process: the median of the like
  // runs, else of the similar ones. Nothing where there are none.
  std::optional<double> expected(const RunConfig& config) const;

 private:
  LikeRuns<double> seconds_;
};

class RunSizes {
 public:
  RunSizes() = default;

  // Reads the runs as RunTimes does.
  explicit RunSizes(const std::string& db);

  struct Size {
    int64_t kept = 0;  // in the database and in the run's folder, permanently
    // One checkpoint, of the trained state; 0 for a timing, which writes none.
    int64_t checkpoint = 0;
  };

  // The median, over runs as in RunTimes. The folders of the runs are searched during the call.
  std::optional<Size> expected(const RunConfig& config) const;

 private:
  struct Sample {
    double in_database = 0;  // its share of the file
    std::string folder;
    int64_t parameters = 0;
  };

  LikeRuns<Sample> samples_;
};

// Size of a checkpoint: the weights, the state of the update rule for each weight, and the average
// of the weights, in fp32.
int64_t checkpoint_bytes(const Recipe& recipe, int64_t parameters);

}  // namespace approx
