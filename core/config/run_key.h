// The name of a run's result.
#pragma once

#include <string>
#include <string_view>

#include "core/config/catalogue.h"
#include "core/config/run_config.h"

namespace approx {

// sha256 over the canonical JSON of the configuration, the checksum of its data set and the
// versions of its method, network and the program's result format: 64 hexadecimal digits. Two
// runs with equal keys give the same result on the same device.
std::string run_key(const RunConfig& config, std::string_view dataset_sha256,
                    const Catalogue& catalogue);

}  // namespace approx
