// [slurm]: what the tasks of a sweep ask a cluster for (cli/slurm/). It says where runs are
// computed and not what: no run and no key knows of it.
#pragma once

#include <string>
#include <vector>

namespace approx {

class TomlSource;

// One setting as its flag would take it.
struct PlacedSetting {
  std::string key;    // "time": of --slurm-time
  std::string value;  // "4h"
  std::string place;  // "table.toml:12:8: slurm.time", for messages
};

// The keys of the table.
const std::vector<std::string>& slurm_keys();

// The settings of the table in the order of the keys, one for each item of a list; none where there
// is no table. Throws Error(kUsage) for a key that is not known, and for what is neither a text nor
// a whole number; what a value means is for its reader to say.
std::vector<PlacedSetting> read_slurm(const TomlSource& source);

}  // namespace approx
