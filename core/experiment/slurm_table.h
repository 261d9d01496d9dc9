// [slurm]: the resources that the tasks of a sweep ask a cluster for (cli/slurm/). It says where
// runs are computed and not what. No run and no key depends on it.
#pragma once

#include <string>
#include <vector>

namespace approx {

class TomlSource;

// One setting, written as for its flag.
struct PlacedSetting {
  std::string key;    // "time": of --slurm-time
  std::string value;  // "4h"
  std::string place;  // "table.toml:12:8: slurm.time", for messages
};

// The keys of the table.
const std::vector<std::string>& slurm_keys();

// The settings of the table in the order of the keys, one for each item of a list. None if there is
// no table. Throws Error(kUsage) for an unknown key, and for a value that is neither a text nor a
// whole number. The reader of a setting checks its value.
std::vector<PlacedSetting> read_slurm(const TomlSource& source);

}  // namespace approx
