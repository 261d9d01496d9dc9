// The definitions in plain loops and double precision, written from the papers' formulas without a
// line of the library: what methods are held to.
#pragma once

#include <functional>
#include <vector>

#include "kernels/operands.h"
#include "tests/testing.h"

namespace approx::reference {

// A tensor [A,B,C,D] in row-major order.
struct Array {
  std::vector<int64_t> sizes;
  std::vector<double> values;

  explicit Array(std::vector<int64_t> extents)
      : sizes(std::move(extents)),
        values(static_cast<size_t>(sizes[0] * sizes[1] * sizes[2] * sizes[3])) {}
  explicit Array(const at::Tensor& tensor);

  double& at(int64_t a, int64_t b, int64_t c, int64_t d) {
    return values[static_cast<size_t>(((a * sizes[1] + b) * sizes[2] + c) * sizes[3] + d)];
  }
  double at(int64_t a, int64_t b, int64_t c, int64_t d) const {
    return const_cast<Array*>(this)->at(a, b, c, d);
  }
  at::Tensor tensor() const;  // [A,B,C,D] double
};

// The three products, as seven nested loops over every multiplication of the layer.
Array forward(const Array& x, const Array& w, const Geometry& geometry);
Array data_gradient(const Array& w, const Array& dy, const Geometry& geometry,
                    const std::vector<int64_t>& input_sizes);
Array weight_gradient(const Array& x, const Array& dy, const Geometry& geometry,
                      const std::vector<int64_t>& weight_sizes);

// The product of `operands`, exact.
Array product(const Operands& operands);

// Every element multiplied by `factor(index along dim)`.
Array scaled(Array array, int dim, const std::vector<double>& factor);

// The Euclidean norm of each slice along a dimension.
std::vector<double> norms(const Array& array, int dim);

}  // namespace approx::reference

namespace approx {

// `count` shapes drawn at random: kernels 1 to 7, strides 1 and 2, paddings, groups, batches from
// 1, channel numbers that nothing divides.
std::vector<TestShape> random_shapes(int64_t count, uint64_t seed);

// The plan of a method as a layer would ask for it: under a method that samples forward, the
// gradients go by that plan.
struct Planned {
  std::optional<Plan> forward;
  Plan plan;
};
Planned plan_as_layer(Method& method, const std::vector<Product>& products, Operands& operands,
                      const Rng& rng, const at::Tensor& loss_scale = {});

}  // namespace approx
