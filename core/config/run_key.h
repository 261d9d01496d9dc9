// The name of a run's result.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/config/catalogue.h"
#include "core/config/run_config.h"

namespace approx {

// sha256 over the canonical JSON of the configuration, the checksum of its data set and the
// versions of its method, network and the program's result format, of a timing run also of the
// built-in table of kernel rules: 64 hexadecimal digits. Two runs with equal keys give the same
// result on the same device, by the same build to the bit.
std::string run_key(const RunConfig& config, std::string_view dataset_sha256,
                    const Catalogue& catalogue);

// The keys of a timing by earlier versions of the built-in table, newest first; of other runs none.
std::vector<std::string> earlier_run_keys(const RunConfig& config, std::string_view dataset_sha256,
                                          const Catalogue& catalogue);

}  // namespace approx
