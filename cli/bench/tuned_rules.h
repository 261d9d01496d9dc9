// Makes rows of a table of kernel rules (products/rules.h) from measurements of single shapes.
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "core/engine/engine.h"
#include "products/rules.h"

namespace approx {

// The row, without its density, for a variant on shapes like this one. These have the same number
// of taps and stride, channels between two powers of two, and pixels between two powers of four.
KernelRule class_of(const ConvShape& shape, const RuledVariant& variant);

// The densities at which `pays` holds: up to one or from one on, as the variant's rule is.
// Densities are tried one after the other from that end until `pays` is false. Nothing where it is
// false at once.
std::optional<Bounds<double>> paying_densities(const RuledVariant& variant,
                                               const std::function<bool(double)>& pays);

// Adds a row. If there is a row of the same class, both are replaced by one that pays only where
// both do.
void add_rule(std::vector<KernelRule>& rules, const KernelRule& rule);

}  // namespace approx
