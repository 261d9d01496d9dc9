#include "tests/reference.h"

#include <algorithm>
#include <cmath>

namespace approx::reference {
namespace {

// Calls f(n, group, co, oy, ox, ci within the group, r, s, iy, ix) for every multiplication.
template <typename Visit>
void multiplications(const std::vector<int64_t>& x, const std::vector<int64_t>& w,
                     const std::vector<int64_t>& y, const Geometry& g, const Visit& visit) {
  const int64_t per_group = w[0] / g.groups;
  for (int64_t n = 0; n < x[0]; ++n) {
    for (int64_t co = 0; co < w[0]; ++co) {
      for (int64_t oy = 0; oy < y[2]; ++oy) {
        for (int64_t ox = 0; ox < y[3]; ++ox) {
          for (int64_t ci = 0; ci < w[1]; ++ci) {
            for (int64_t r = 0; r < w[2]; ++r) {
              for (int64_t s = 0; s < w[3]; ++s) {
                const int64_t iy = oy * g.stride.h - g.padding.h + r * g.dilation.h;
                const int64_t ix = ox * g.stride.w - g.padding.w + s * g.dilation.w;
                if (iy < 0 || iy >= x[2] || ix < 0 || ix >= x[3]) continue;
                visit(n, co, oy, ox, co / per_group * w[1] + ci, ci, r, s, iy, ix);
              }
            }
          }
        }
      }
    }
  }
}

}  // namespace

Array::Array(const at::Tensor& tensor) : Array(tensor.sizes().vec()) {
  const auto flat = tensor.detach().to(at::kCPU, at::kDouble).contiguous();
  std::copy_n(flat.const_data_ptr<double>(), flat.numel(), values.begin());
}

at::Tensor Array::tensor() const {
  auto tensor = at::empty(sizes, at::kDouble);
  std::copy(values.begin(), values.end(), tensor.mutable_data_ptr<double>());
  return tensor;
}

Array forward(const Array& x, const Array& w, const Geometry& g) {
  const auto extent = [&](size_t d) {
    const auto stride = g.stride.both()[d - 2], padding = g.padding.both()[d - 2],
               dilation = g.dilation.both()[d - 2];
    return (x.sizes[d] + 2 * padding - dilation * (w.sizes[d] - 1) - 1) / stride + 1;
  };
  Array y({x.sizes[0], w.sizes[0], extent(2), extent(3)});
  multiplications(x.sizes, w.sizes, y.sizes, g,
                  [&](auto n, auto co, auto oy, auto ox, auto c, auto ci, auto r, auto s, auto iy,
                      auto ix) { y.at(n, co, oy, ox) += x.at(n, c, iy, ix) * w.at(co, ci, r, s); });
  return y;
}

Array data_gradient(const Array& w, const Array& dy, const Geometry& g,
                    const std::vector<int64_t>& input_sizes) {
  Array dx(input_sizes);
  multiplications(
      input_sizes, w.sizes, dy.sizes, g,
      [&](auto n, auto co, auto oy, auto ox, auto c, auto ci, auto r, auto s, auto iy, auto ix) {
        dx.at(n, c, iy, ix) += dy.at(n, co, oy, ox) * w.at(co, ci, r, s);
      });
  return dx;
}

Array weight_gradient(const Array& x, const Array& dy, const Geometry& g,
                      const std::vector<int64_t>& weight_sizes) {
  Array dw(weight_sizes);
  multiplications(
      x.sizes, weight_sizes, dy.sizes, g,
      [&](auto n, auto co, auto oy, auto ox, auto c, auto ci, auto r, auto s, auto iy, auto ix) {
        dw.at(co, ci, r, s) += x.at(n, c, iy, ix) * dy.at(n, co, oy, ox);
      });
  return dw;
}

Array product(const Operands& o) {
  switch (o.product) {
    case Product::kForward:
      return forward(Array(o.x), Array(o.w), o.geometry);
    case Product::kDataGradient:
      return data_gradient(Array(o.w), Array(o.dy), o.geometry, o.input_sizes);
    case Product::kWeightGradient:
      return weight_gradient(Array(o.x), Array(o.dy), o.geometry, o.w.sizes().vec());
  }
  return Array({0, 0, 0, 0});
}

Array scaled(Array array, int dim, const std::vector<double>& factor) {
  for (int64_t a = 0; a < array.sizes[0]; ++a) {
    for (int64_t b = 0; b < array.sizes[1]; ++b) {
      for (int64_t c = 0; c < array.sizes[2]; ++c) {
        for (int64_t d = 0; d < array.sizes[3]; ++d) {
          array.at(a, b, c, d) *= factor[static_cast<size_t>(dim == 0 ? a : b)];
        }
      }
    }
  }
  return array;
}

std::vector<double> norms(const Array& array, int dim) {
  std::vector<double> squares(static_cast<size_t>(array.sizes[static_cast<size_t>(dim)]));
  for (int64_t a = 0; a < array.sizes[0]; ++a) {
    for (int64_t b = 0; b < array.sizes[1]; ++b) {
      for (int64_t c = 0; c < array.sizes[2]; ++c) {
        for (int64_t d = 0; d < array.sizes[3]; ++d) {
          squares[static_cast<size_t>(dim == 0 ? a : b)] += std::pow(array.at(a, b, c, d), 2);
        }
      }
    }
  }
  for (auto& value : squares) value = std::sqrt(value);
  return squares;
}

}  // namespace approx::reference

namespace approx {

std::vector<TestShape> random_shapes(int64_t count, uint64_t seed) {
  std::vector<TestShape> shapes;
  for (uint64_t i = 0; static_cast<int64_t>(shapes.size()) < count; ++i) {
    const Rng rng{.seed = seed, .step = i, .stream = kOrderStream};
    auto draw = [&, at = uint32_t{0}](uint32_t n) mutable {
      return int64_t{Rng::below(n, rng.block(at++)[0])};
    };
    TestShape s{};
    s.groups = draw(4) == 0 ? 1 + draw(3) : 1;
    s.n = 1 + draw(4);
    s.ci = s.groups * (1 + draw(11));
    s.co = s.groups * (1 + draw(9));
    s.kernel = 1 + draw(7);
    s.stride = 1 + draw(2);
    s.padding = draw(static_cast<uint32_t>(s.kernel / 2 + 1));
    s.size = s.kernel + draw(6);
    shapes.push_back(s);
  }
  return shapes;
}

Planned plan_as_layer(Method& method, const std::vector<Product>& products, Operands& operands,
                      const Rng& rng, const at::Tensor& loss_scale) {
  Planned planned;
  const auto has = [&](Product product) {
    return std::find(products.begin(), products.end(), product) != products.end();
  };
  const auto wanted = operands.product;
  if (wanted != Product::kForward && has(Product::kForward)) {
    Operands first = operands;
    first.product = Product::kForward;
    first.dy = at::Tensor();
    if (!first.x.defined()) first.x = at::ones(operands.input_sizes);
    Rng stream = rng;
    stream.product = Product::kForward;
    planned.forward = method.plan(first, {.rng = stream});
  }
  planned.plan = method.plan(operands, {.rng = rng,
                                        .norm_follows = true,
                                        .forward = planned.forward ? &*planned.forward : nullptr,
                                        .loss_scale = loss_scale});
  return planned;
}

}  // namespace approx
