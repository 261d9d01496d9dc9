// The kernel cases that tune-kernels measures.
#pragma once

#include <c10/core/Device.h>

#include <vector>

#include "core/engine/engine.h"

namespace approx {

// See Engine::rule_cases. Throws Error.
std::vector<KernelCase> rule_cases_of(const ConvShape& shape, const RuledVariant& variant,
                                      double density, c10::Device device);

}  // namespace approx
