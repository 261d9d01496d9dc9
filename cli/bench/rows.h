// The rows of one shape and product: exact paths and methods, checked and timed.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/params.h"
#include "cli/bench/pairs.h"
#include "core/engine/engine.h"

namespace approx {

// The values that the rows of one setting share.
struct BenchPlace {
  KernelSetting setting;
  Roofline roofline;  // measured limits of the device
};

// A GPU's L2 for a row and for the stored environment of a benchmark (results/rows/memory_limit.h);
// null where it was not measured.
Json l2_json(const Roofline& roofline);

// Makes rows in the format of docs/internals/events.md ("kernel"). The exact paths are timed side
// by side. The fastest of them is the baseline, and every other case is then compared with it in
// pairs. A case that fails, or whose result is not finite, becomes a row without times that gives
// the reason. `note` is called with the next case. Throws Error where no exact path works, and
// where a device failed.
std::vector<Json> measure_cases(const std::vector<KernelCase>& cases, const BenchPlace& place,
                                const BenchEffort& effort,
                                const std::function<void(const KernelCase&)>& note);

}  // namespace approx
