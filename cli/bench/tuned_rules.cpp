#include "cli/bench/tuned_rules.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <string>

namespace approx {
namespace {

constexpr std::array kDensities = {1.0 / 64, 1.0 / 32, 1.0 / 16, 0.1, 0.15, 0.2, 0.25, 0.3,
                                   0.35,     0.4,      0.45,     0.5, 0.6,  0.7, 0.8,  0.9};

Bounds<int64_t> exactly(int64_t value) { return {value, value}; }

// The powers of `base` that a positive number lies between.
Bounds<int64_t> between_powers(int64_t value, int64_t base) {
  int64_t least = 1;
  while (least * base <= value) least *= base;
  return {least, least * base - 1};
}

// What both hold; nothing where that is nothing.
std::optional<Bounds<double>> common(const std::optional<Bounds<double>>& a,
                                     const std::optional<Bounds<double>>& b) {
  if (!a || !b) return std::nullopt;
  const Bounds<double> both{std::max(a->least, b->least), std::min(a->most, b->most)};
  return both.least <= both.most ? std::optional(both) : std::nullopt;
}

}  // namespace

KernelRule class_of(const ConvShape& shape, const RuledVariant& variant) {
  const int64_t out = output_size(shape.size, shape.kernel, shape.stride, shape.padding);
  return {.variant = variant.name,
          .product = variant.product,
          .taps = exactly(shape.kernel * shape.kernel),
          .inputs = between_powers(shape.in_channels, 2),
          .outputs = between_powers(shape.out_channels, 2),
          .pixels = between_powers(out * out, 4),
          .stride = exactly(shape.stride)};
}

std::optional<Bounds<double>> paying_densities(const RuledVariant& variant,
                                               const std::function<bool(double)>& pays) {
  // Not by halving: a sample of 11 channels may fill no vector where one of 8 and one of 16 do.
  if (variant.pays == Pays::kBelow) {
    const auto end = std::find_if_not(kDensities.begin(), kDensities.end(), pays);
    if (end == kDensities.begin()) return std::nullopt;
    return Bounds<double>{.most = *std::prev(end)};
  }
  const auto end = std::find_if_not(kDensities.rbegin(), kDensities.rend(), pays);
  if (end == kDensities.rbegin()) return std::nullopt;
  return Bounds<double>{.least = *std::prev(end)};
}

void add_rule(std::vector<KernelRule>& rules, const KernelRule& rule) {
  const auto same_class = std::find_if(rules.begin(), rules.end(), [&](KernelRule known) {
    known.density = rule.density;
    return known == rule;
  });
  if (same_class == rules.end()) {
    rules.push_back(rule);
  } else {
    same_class->density = common(same_class->density, rule.density);
  }
}

}  // namespace approx
