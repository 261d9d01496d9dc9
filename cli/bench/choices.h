// What the chooser of variants does, as a table.
#pragma once

#include <string>
#include <vector>

#include "core/engine/engine.h"
#include "results/render/table.h"

namespace approx {

// A line for each variant of each plan's kind, in the order of their ranks: whether it could
// compute the product, what its rule says and which is taken, each with the reason.
Table choices_table(const std::vector<KernelChoice>& choices);

// Why a candidate is taken, or not, among `all` of its plan.
std::string reason_of(const VariantCandidate& candidate, const std::vector<VariantCandidate>& all);

}  // namespace approx
