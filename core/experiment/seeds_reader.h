// Reads seeds from experiment files.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/experiment/toml_source.h"

namespace approx {

// Reads an integer, a range or a list of these, without repetitions. Throws Error(kUsage) with the
// place.
std::vector<int64_t> read_seeds(const TomlSource& source, const toml::node& node,
                                const std::string& path);

}  // namespace approx
