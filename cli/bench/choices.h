// The decisions of the variant chooser, as a table.
#pragma once

#include <string>
#include <vector>

#include "core/engine/engine.h"
#include "results/render/table.h"

namespace approx {

// A line for each variant of each kind of plan, in the order of their ranks. It says whether the
// variant can compute the product, what its rule says and whether it is chosen, each with the
// reason.
Table choices_table(const std::vector<KernelChoice>& choices);

// Why a candidate is chosen or not, among `all` candidates of its plan.
std::string reason_of(const VariantCandidate& candidate, const std::vector<VariantCandidate>& all);

}  // namespace approx
