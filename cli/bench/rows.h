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

// What the rows of one setting share.
struct BenchPlace {
  KernelSetting setting;
  Roofline roofline;  // what was measured of it
};

// What a row, and the environment that the store keeps of a benchmark, say of a GPU's L2
// (results/rows/memory_limit.h); null where it was not measured.
Json l2_json(const Roofline& roofline);

// Rows as docs/internals/events.md says ("kernel"). The exact paths are timed side by side, and the
// fastest of them is the baseline, which every other case is then held against in pairs. A case
// that fails, or whose result is not finite, is a row without times that says why. `note` hears
// what is next. Throws Error where no exact path works, and where a device failed.
std::vector<Json> measure_cases(const std::vector<KernelCase>& cases, const BenchPlace& place,
                                const BenchEffort& effort,
                                const std::function<void(const KernelCase&)>& note);

}  // namespace approx
