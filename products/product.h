// The three products of a layer. They are the units of approximation.
#pragma once

#include <array>
#include <string_view>

namespace approx {

// A convolution or linear layer multiplies three times in a training step:
//   forward          Y  = X  (*) W
//   data gradient    dX = dY (*) W transposed
//   weight gradient  dW = X transposed (*) dY
enum class Product { kForward, kDataGradient, kWeightGradient };

inline constexpr std::array<Product, 3> kAllProducts = {Product::kForward, Product::kDataGradient,
                                                        Product::kWeightGradient};

// The name used in TOML, on the command line, in the store and in Python.
constexpr std::string_view name(Product product) {
  switch (product) {
    case Product::kForward:
      return "forward";
    case Product::kDataGradient:
      return "data_gradient";
    case Product::kWeightGradient:
      return "weight_gradient";
  }
  return "?";
}

}  // namespace approx
