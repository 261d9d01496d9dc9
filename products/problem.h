// One product as plain numbers: all that a kernel variant decides by, and what its loops go by. No
// tensor, so that a variant's file needs no header of LibTorch.
#pragma once

#include <cstdint>

#include "products/geometry.h"
#include "products/product.h"

namespace approx {

// Where the operands lie.
enum class Hardware : uint8_t { kCpu, kCuda, kOther };

// What their elements are.
enum class ElementType : uint8_t { kFloat, kDouble, kHalf, kBFloat16, kOther };

// How their maps lie in memory: the channels of a pixel, or the pixels of a channel side by side.
enum class MapLayout : uint8_t { kChannelsLast, kChannelsFirst, kOther };

// (Its functions are constexpr so that kernels of a GPU may call them.)
struct Problem {
  Product product = Product::kWeightGradient;
  Geometry geometry;
  int64_t n = 0;                   // examples
  int64_t ci = 0, h = 0, w = 0;    // channels and size of x
  int64_t co = 0, ho = 0, wo = 0;  // of y and dy
  int64_t kh = 1, kw = 1;          // size of the kernel
  Hardware device = Hardware::kCpu;
  ElementType element = ElementType::kFloat;
  MapLayout layout = MapLayout::kChannelsLast;
  // What a plan keeps, where it knows it without waiting: the share of dY that is not zero, or of
  // the axis that is in a sample. Of the exact gradients about the share of dY that is not zero.
  double density = 1;
  int64_t group = 1;  // neighbouring channels of dY among which a plan chooses

  constexpr bool one_group() const { return geometry.groups == 1; }
  constexpr int64_t group_inputs() const { return ci / geometry.groups; }

  // Slices of the result that depend on nothing of each other, so that threads share them:
  // examples, or the output channels of a weight gradient.
  constexpr int64_t slices() const { return product == Product::kWeightGradient ? co : n; }
  // Numbers in each of them.
  constexpr int64_t slice_size() const {
    switch (product) {
      case Product::kForward:
        return ho * wo * co;
      case Product::kDataGradient:
        return h * w * ci;
      case Product::kWeightGradient:
        return kh * kw * group_inputs();
    }
    return 0;
  }
};

}  // namespace approx
