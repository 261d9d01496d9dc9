// Counts which variants computed the products of a layer. Rules may depend on the density of a
// plan, so the variant of a product may change from step to step.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "products/product.h"

namespace approx {

// The counts of one product. Counting costs a few comparisons and allocates nothing.
class VariantCounts {
 public:
  struct Entry {
    std::string_view plan;     // the kind of plan, "PrunedDY"
    std::string_view variant;  // "sparse_rows"
    int64_t calls = 0;
  };

  // Both names must outlive this object, as those of registered variants do.
  void add(std::string_view plan, std::string_view variant) {
    size_t place = 0;
    while (place < used_ && !(entries_[place].variant == variant && entries_[place].plan == plan)) {
      ++place;
    }
    if (place == entries_.size()) {
      place = entries_.size() - 1;
      entries_[place].plan = entries_[place].variant = kOthers;
    }
    if (place == used_) entries_[used_++] = {plan, variant, 0};
    ++entries_[place].calls;
  }

  // The number of calls of entry i, whether it is in use yet or not.
  int64_t& calls(size_t i) { return entries_[i].calls; }

  // In the order of their first use.
  std::span<const Entry> entries() const { return {entries_.data(), used_}; }

  // A product of a layer uses two or three. If there were more than fit, the last entry would count
  // all the others.
  static constexpr size_t kMost = 8;

 private:
  static constexpr std::string_view kOthers = "others";

  std::array<Entry, kMost> entries_;
  size_t used_ = 0;
};

// The counts of the three products of a layer.
class LayerVariants {
 public:
  VariantCounts& of(Product product) { return counts_[static_cast<size_t>(product)]; }
  const VariantCounts& of(Product product) const { return counts_[static_cast<size_t>(product)]; }

 private:
  std::array<VariantCounts, kAllProducts.size()> counts_;
};

}  // namespace approx
