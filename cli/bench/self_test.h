// Whether verdicts can be trusted on this machine: compares the exact product with itself.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "cli/bench/pairs.h"
#include "core/engine/engine.h"
#include "results/render/table.h"
#include "results/stats/stats.h"

namespace approx {

// Different shapes that allow a thousand pairs a second. They are a convolution of a small map, one
// with a stride, a 1x1 convolution and a linear layer.
std::vector<ConvShape> self_test_shapes();

// Makes `count` ratios of a layer's exact products to themselves. Each is measured as
// `bench-kernel` measures a method, over `exact` in turn. `note` is called with the number done.
// Throws Error.
FalseVerdicts measure_false_verdicts(const std::vector<KernelCase>& exact, int64_t count,
                                     const BenchEffort& effort,
                                     const std::function<void(int64_t)>& note);

// A row for each number of threads.
Table self_test_table(const std::vector<std::pair<int64_t, FalseVerdicts>>& by_threads);

}  // namespace approx
