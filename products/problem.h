// One product as plain numbers: the inputs of a kernel variant's decisions and loops. No tensor, so
// that a variant's file needs no LibTorch header.
#pragma once

#include <cstdint>

#include "products/geometry.h"
#include "products/product.h"

namespace approx {

// The device of the operands.
enum class Hardware : uint8_t { kCpu, kCuda, kOther };

// The type of their elements.
enum class ElementType : uint8_t { kFloat, kDouble, kHalf, kBFloat16, kOther };

// The memory layout of their maps: the channels of a pixel side by side, or the pixels of a
// channel.
enum class MapLayout : uint8_t { kChannelsLast, kChannelsFirst, kOther };

// (The functions are constexpr so that GPU kernels can call them.)
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
  // The density of a plan, where it is known without waiting: of dY, or of the sampled axis. For
  // exact gradients, about the density of dY.
  double density = 1;
  int64_t group = 1;  // neighbouring channels of dY among which a plan chooses

  constexpr bool one_group() const { return geometry.groups == 1; }
  constexpr int64_t group_inputs() const { return ci / geometry.groups; }

  // Number of independent slices of the result, which threads share: examples, or the output
  // channels of a weight gradient.
  constexpr int64_t slices() const { return product == Product::kWeightGradient ? co : n; }
  // Elements of a slice.
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
