// From measurements of single shapes to the rows of a table of kernel rules (products/rules.h).
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "core/engine/engine.h"
#include "products/rules.h"

namespace approx {

// The row, all but its density, that stands for a variant on shapes like this one: as many taps,
// the same stride, channels between two powers of two, pixels between two powers of four.
KernelRule class_of(const ConvShape& shape, const RuledVariant& variant);

// The densities at which `pays` holds, up to one or from one on, as the variant's rule is: it is
// asked for one after the other from that end, until it does not. Nothing where it never does.
std::optional<Bounds<double>> paying_densities(const RuledVariant& variant,
                                               const std::function<bool(double)>& pays);

// Adds a row; to one of the same class, that it pays only where both do.
void add_rule(std::vector<KernelRule>& rules, const KernelRule& rule);

}  // namespace approx
