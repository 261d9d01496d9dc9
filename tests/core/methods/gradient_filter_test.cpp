// gradient_filter, held to its definition in plain loops and to numbers of the published code.
#include <algorithm>
#include <cmath>
#include <vector>

#include "core/methods/method.h"
#include "tests/reference.h"
#include "tests/testing.h"

namespace approx {
namespace {

constexpr std::array kFiltered = {Product::kDataGradient, Product::kWeightGradient};

using Numbers = std::vector<int64_t>;

// The outputs of each patch of one direction.
std::vector<Numbers> patches_of(int64_t outputs, int64_t r) {
  std::vector<Numbers> patches;
  const auto count =
      static_cast<int64_t>(std::ceil(static_cast<double>(outputs) / static_cast<double>(r)));
  const auto before = static_cast<int64_t>(std::ceil(static_cast<double>(count * r - outputs) / 2));
  for (int64_t patch = 0; patch < count; ++patch) {
    auto& members = patches.emplace_back();
    for (int64_t i = 0; i < r; ++i) {
      const int64_t output = patch * r - before + i;
      if (output >= 0 && output < outputs) members.push_back(output);
    }
  }
  return patches;
}

// The inputs of these outputs: `stride` each, around the middle of the map.
Numbers inputs_of(const Numbers& outputs, int64_t all_outputs, int64_t inputs, int64_t stride) {
  const auto first =
      static_cast<int64_t>(std::floor(static_cast<double>(inputs - all_outputs * stride) / 2));
  Numbers found;
  for (const int64_t output : outputs) {
    for (int64_t i = 0; i < stride; ++i) {
      const int64_t input = first + output * stride + i;
      if (input >= 0 && input < inputs) found.push_back(input);
    }
  }
  return found;
}

// Both gradients by the definition: the data gradient, then the weight gradient.
std::array<at::Tensor, 2> filtered(const Operands& o, int64_t r) {
  const reference::Array x(o.x), w(o.w), dy(o.dy);
  reference::Array dx(o.input_sizes), dw(o.w.sizes().vec());
  const auto [stride_down, stride_across] = o.geometry.stride.both();
  const auto strides = static_cast<double>(stride_down * stride_across);
  const auto ho = dy.sizes[2], wo = dy.sizes[3];
  const auto group_outputs = w.sizes[0] / o.geometry.groups, group_inputs = w.sizes[1];
  for (const auto& down : patches_of(ho, r)) {
    for (const auto& across : patches_of(wo, r)) {
      const auto rows = inputs_of(down, ho, x.sizes[2], stride_down);
      const auto columns = inputs_of(across, wo, x.sizes[3], stride_across);
      for (int64_t n = 0; n < x.sizes[0]; ++n) {
        for (int64_t co = 0; co < w.sizes[0]; ++co) {
          double mean = 0;
          for (const auto i : down) {
            for (const auto j : across) mean += dy.at(n, co, i, j);
          }
          mean /= static_cast<double>(down.size() * across.size());
          for (int64_t ci = 0; ci < group_inputs; ++ci) {
            const int64_t channel = co / group_outputs * group_inputs + ci;
            double weights = 0, sum = 0;
            for (int64_t u = 0; u < w.sizes[2]; ++u) {
              for (int64_t v = 0; v < w.sizes[3]; ++v) weights += w.at(co, ci, u, v);
            }
            for (const auto i : rows) {
              for (const auto j : columns) {
                sum += x.at(n, channel, i, j);
                dx.at(n, channel, i, j) += mean * weights / strides;
              }
            }
            for (int64_t u = 0; u < w.sizes[2]; ++u) {
              for (int64_t v = 0; v < w.sizes[3]; ++v) {
                dw.at(co, ci, u, v) += mean * sum / strides;
              }
            }
          }
        }
      }
    }
  }
  return {dx.tensor(), dw.tensor()};
}

at::Tensor result_of(const std::string& text, const Operands& o) {
  return run(make_method(text)->plan(o, {}), o);
}

TEST(GradientFilter, IsItsDefinition) {
  auto shapes = conv_shapes();
  for (const auto& shape : random_shapes(20, 95)) shapes.push_back(shape);
  for (const auto& shape : shapes) {
    SCOPED_TRACE(shape);
    auto o = random_operands(shape);
    for (const int64_t r : {1, 2, 3, 4, 50}) {
      const auto wanted = filtered(o, r);
      for (size_t i = 0; i < kFiltered.size(); ++i) {
        o.product = kFiltered[i];
        EXPECT_CLOSE(result_of(fmt::format("gradient_filter:r={}", r), o), wanted[i])
            << "r " << r << " " << name(o.product);
      }
    }
  }
}

// With one tap nothing is left out: patches share the gradient out, and its sum stays.
TEST(GradientFilter, KeepsTheSumOfADataGradientOfOneTap) {
  for (const int64_t stride : {1, 2, 3}) {
    for (const int64_t r : {2, 3, 4}) {
      auto o = random_operands(
          {.n = 2, .ci = 5, .size = 12, .co = 3, .kernel = 1, .stride = stride, .padding = 0});
      o.product = Product::kDataGradient;
      const auto filter = result_of(fmt::format("gradient_filter:r={}", r), o);
      EXPECT_CLOSE(filter.sum({2, 3}), run(Dense{}, o).sum({2, 3})) << stride << " " << r;
    }
  }
}

// Where all entries of a map are equal, every tap of dW is exact but for what padding leaves out.
TEST(GradientFilter, KeepsWeightGradientsOfEqualEntries) {
  for (const int64_t stride : {1, 2}) {
    auto o = random_operands(
        {.n = 3, .ci = 4, .size = 12, .co = 5, .kernel = 3, .stride = stride, .padding = 1});
    o.x.fill_(0.5);
    o.dy.fill_(-2);
    o.product = Product::kWeightGradient;
    const auto dw = result_of("gradient_filter", o);
    EXPECT_CLOSE(dw, run(Dense{}, o).select(2, 1).select(2, 1).view({5, 4, 1, 1}).expand_as(dw));
  }
}

TEST(GradientFilter, HasOneWeightGradientForAllTaps) {
  auto o = random_operands(
      {.n = 2, .ci = 3, .size = 9, .co = 4, .kernel = 3, .stride = 1, .padding = 1});
  o.product = Product::kWeightGradient;
  const auto dw = result_of("gradient_filter:r=3", o);
  EXPECT_TRUE(at::equal(dw, dw.narrow(2, 1, 1).narrow(3, 2, 1).expand_as(dw)));
  EXPECT_GT(dw.abs().min().item<double>(), 0);
}

TEST(GradientFilter, IsExactWhereAPatchIsOnePixelAndOneTap) {
  const auto is_exact = [](const std::string& text, const TestShape& shape) {
    auto o = random_operands(shape);
    bool all = true;
    for (const auto product : kFiltered) {
      o.product = product;
      const auto plan = make_method(text)->plan(o, {});
      all &= std::holds_alternative<Dense>(plan);
      // What is planned as exact would have been so.
      if (!all) continue;
      const Pooled pooled{std::stoll(text.substr(text.find('=') + 1))};
      EXPECT_CLOSE(run(pooled, o), run(Dense{}, o));
    }
    return all;
  };
  const TestShape linear{
      .n = 3, .ci = 7, .size = 1, .co = 5, .kernel = 1, .stride = 1, .padding = 0};
  TestShape point = linear, strided = linear, padded = linear, taps = linear;
  point.size = strided.size = 4;
  strided.stride = 2;
  padded.padding = 1;
  taps.kernel = 3;
  taps.padding = 1;
  EXPECT_TRUE(is_exact("gradient_filter:r=2", linear));
  EXPECT_TRUE(is_exact("gradient_filter:r=1", point));
  EXPECT_FALSE(is_exact("gradient_filter:r=2", point));
  EXPECT_FALSE(is_exact("gradient_filter:r=1", strided));
  EXPECT_FALSE(is_exact("gradient_filter:r=1", padded));
  EXPECT_FALSE(is_exact("gradient_filter:r=1", taps));
}

// Operands of small whole numbers, as they were given to the published code.
Operands counted(const TestShape& s) {
  auto o = random_operands(s);
  const auto counted_up = [](const at::Tensor& like, int64_t step, int64_t modulus) {
    const auto numbers = at::remainder(at::arange(like.numel(), at::kLong) * step, modulus);
    return (numbers - modulus / 2).to(at::kFloat).view(like.sizes());
  };
  o.x = counted_up(o.x, 7, 11);
  o.w = counted_up(o.w, 5, 13);
  o.dy = counted_up(o.dy, 3, 17);
  return o;
}

// Holds a layer to what the published code computed, divided by `strides`: dX of every pixel, and
// dW of every pair of channels, alike at all taps.
void expect_published(const TestShape& shape, double strides, const std::vector<float>& dx,
                      const std::vector<float>& dw) {
  SCOPED_TRACE(shape);
  auto o = counted(shape);
  o.product = Product::kDataGradient;
  EXPECT_CLOSE(result_of("gradient_filter", o) * strides, at::tensor(dx).view(o.input_sizes));
  o.product = Product::kWeightGradient;
  const auto of_taps = at::tensor(dw).view({o.w.size(0), o.w.size(1), 1, 1}).expand_as(o.w);
  EXPECT_CLOSE(result_of("gradient_filter", o) * strides, of_taps);
}

// github.com/SLDGroup/GradientFilter-CVPR23, classification/custom_op/conv_avg.py, order 2.
TEST(GradientFilter, HasTheNumbersOfThePublishedCode) {
  TestShape shape{.n = 1, .ci = 2, .size = 4, .co = 2, .kernel = 3, .stride = 1, .padding = 1};
  expect_published(shape, 1, {2,    2,    12,   12,   2,    2,    12,   12,    //
                              8,    8,    -16,  -16,  8,    8,    -16,  -16,   //
                              2.5F, 2.5F, 2.5F, 2.5F, 2.5F, 2.5F, 2.5F, 2.5F,  //
                              2.5F, 2.5F, -6,   -6,   2.5F, 2.5F, -6,   -6},
                   {-16.5F, -6.5F, -15.25F, 6.25F});
  // Three patches in each direction, of which the first is one pixel wide.
  shape = {.n = 1, .ci = 1, .size = 5, .co = 2, .kernel = 3, .stride = 1, .padding = 1};
  expect_published(shape, 1, {34,  7,  7,  -12,   -12,    //
                              -16, 8,  8,  -2.5F, -2.5F,  //
                              -16, 8,  8,  -2.5F, -2.5F,  //
                              -9,  -2, -2, 13,    13,     //
                              -9,  -2, -2, 13,    13},
                   {42.5F, 41.5F});
  // By channels.
  shape = {
      .n = 2, .ci = 2, .size = 3, .co = 2, .kernel = 3, .stride = 1, .padding = 1, .groups = 2};
  expect_published(shape, 1, {32,  14,  14,  12, -6,   -6,   12, -6,   -6,    //
                              -4,  -13, -13, 3,  2.5F, 2.5F, 3,  2.5F, 2.5F,  //
                              20,  2,   2,   0,  -1,   -1,   0,  -1,   -1,    //
                              -10, -2,  -2,  -3, 5,    5,    -3, 5,    5},
                   {5.25F, -72});
  // With a stride it counts every output four times.
  shape = {.n = 1, .ci = 1, .size = 8, .co = 2, .kernel = 3, .stride = 2, .padding = 1};
  std::vector<float> dx;
  for (int64_t y = 0; y < 8; ++y) {
    for (int64_t x = 0; x < 8; ++x) {
      dx.push_back(y < 4 ? (x < 4 ? 0.5F : 15.5F) : (x < 4 ? 9.5F : -18));
    }
  }
  expect_published(shape, 4, dx, {-37.5F, -27.25F});
}

TEST(GradientFilter, RefusesAPatchOfNothing) {
  try {
    make_method("gradient_filter:r=0");
    FAIL() << "accepted";
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(), "gradient_filter: r=0: expected an integer of at least 1");
  }
  EXPECT_THROW(make_method("gradient_filter:r=-2"), Error);
  EXPECT_THROW(make_method("gradient_filter:r=1.5"), Error);
}

}  // namespace
}  // namespace approx
