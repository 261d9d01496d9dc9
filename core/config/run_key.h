// The name of a run's result.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/config/catalogue.h"
#include "core/config/run_config.h"

namespace approx {

// sha256 over the canonical JSON of the configuration, the checksum of its data set and the
// versions of its method, network and the program's result format, of a timing run also of the
// built-in table of kernel rules: 64 hexadecimal digits. Two runs with equal keys give the same
// result on the same device, by the same build to the bit. Settings that take no part are at their
// defaults in it (canonical in core/config/recipe.h), rules are in one spelling (canonical_rule),
// and -0 is 0. (What a timing evaluates by is in its key all the same: many are stored so.)
std::string run_key(const RunConfig& config, std::string_view dataset_sha256,
                    const Catalogue& catalogue);

// The version of the built-in table of kernel rules (kernel_rules_version) that decides about the
// run: the last one that changed rows which such runs go by.
int64_t rules_version_of(const RunConfig& config);

// A key under which a run may have been stored before, and what differed then; where nothing did,
// the very same run was spelt otherwise.
struct EarlierKey {
  std::string key;
  bool other_rules = false;    // of a timing: an earlier version of the built-in table
  bool other_version = false;  // of a method: one that differs by rounding alone
};

// All of them but run_key, newest first: of timings by earlier versions of the built-in table, of
// methods by their earlier versions that count (MethodInfo::rounding_since), by both, and each as
// this configuration was spelt in keys until settings that take no part were left out. Of a run of
// many methods at most 64 versions, those that are nearest to the current ones.
std::vector<EarlierKey> earlier_keys(const RunConfig& config, std::string_view dataset_sha256,
                                     const Catalogue& catalogue);

// The keys of earlier_keys, without what differed.
std::vector<std::string> earlier_run_keys(const RunConfig& config, std::string_view dataset_sha256,
                                          const Catalogue& catalogue);

}  // namespace approx
