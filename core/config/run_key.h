// The key under which the result of a run is stored.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/config/catalogue.h"
#include "core/config/run_config.h"

namespace approx {

// The key is 64 hexadecimal digits: the SHA-256 of canonical JSON. That has the configuration, the
// checksum of the data set, and the versions of the method, the network, the selection and the
// program's result format. For a timing run it also has the version of the built-in table of kernel
// rules. Two runs with equal keys give equal results on the same device, and equal bits with the
// same build. Settings without effect are at their defaults in it (canonical in
// core/config/recipe.h), rules are in one spelling (canonical_rule), and -0 is 0. One exception:
// the evaluation settings of a timing run are in its key, as many runs are stored so.
std::string run_key(const RunConfig& config, std::string_view dataset_sha256,
                    const Catalogue& catalogue);

// The version of the built-in table of kernel rules (kernel_rules_version) that the run depends on:
// the last version that changed rows for such runs.
int64_t rules_version_of(const RunConfig& config);

// A key under which a run may be stored from before, and the difference to today. If neither flag
// is set, the run is the same and only its spelling differs.
struct EarlierKey {
  std::string key;
  bool other_rules = false;    // of a timing: an earlier version of the built-in table
  bool other_version = false;  // of a method: a version that differs by rounding alone
};

// All earlier keys of a run without run_key() itself, newest first. They come from:
// - earlier versions of the built-in table (timing runs);
// - earlier versions of methods that count (MethodInfo::rounding_since);
// - both together;
// - each of these, spelt as keys were before settings without effect were left out.
// For a run of many methods at most 64 choices of versions are taken, the nearest to the current
// ones.
std::vector<EarlierKey> earlier_keys(const RunConfig& config, std::string_view dataset_sha256,
                                     const Catalogue& catalogue);

// The keys of earlier_keys(), without the differences.
std::vector<std::string> earlier_run_keys(const RunConfig& config, std::string_view dataset_sha256,
                                          const Catalogue& catalogue);

}  // namespace approx
