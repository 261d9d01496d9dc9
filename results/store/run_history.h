// How long runs took and how much of the disk, by what a store holds: what a plan goes by.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/config/run_config.h"

namespace approx {

// Samples of runs, found by the configuration of another run.
template <typename Sample>
class LikeRuns {
 public:
  // At most `most` of those that are alike, and of those that are similar.
  void add(const Json& config, const Sample& sample, size_t most = SIZE_MAX);

  // Those of runs that are alike, which differ in nothing but the seed; else of those that are
  // similar, which may differ in method, schedule, learning rate and target as well. Null where
  // there are none.
  const std::vector<Sample>* find(const RunConfig& config) const;

 private:
  std::map<std::string, std::vector<Sample>> samples_;  // by what their configurations share
};

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
  LikeRuns<double> seconds_;
};

class RunSizes {
 public:
  RunSizes() = default;

  // As RunTimes.
  explicit RunSizes(const std::string& db);

  struct Size {
    int64_t kept = 0;        // in the database and in the run's folder, for good
    int64_t checkpoint = 0;  // one of them, of what is trained; 0 of a timing, which writes none
  };

  // The median as RunTimes has it. The folders of the runs are looked into now.
  std::optional<Size> expected(const RunConfig& config) const;

 private:
  struct Sample {
    double in_database = 0;  // its share of the file
    std::string folder;
    int64_t parameters = 0;
  };

  LikeRuns<Sample> samples_;
};

// Of the weights, of what the update rule remembers of each and of their average, in fp32.
int64_t checkpoint_bytes(const Recipe& recipe, int64_t parameters);

}  // namespace approx
