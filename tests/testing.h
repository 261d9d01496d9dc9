// Helpers of the tests that use tensors.
#pragma once

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "base/error.h"
#include "core/data/dataset.h"
#include "core/methods/method.h"
#include "kernels/kernel.h"

namespace approx {

struct TestShape {
  int64_t n, ci, size, co, kernel, stride, padding, groups = 1;
};

std::ostream& operator<<(std::ostream& out, const TestShape& shape);

// Small convolutions: kernels 1 to 7, strides 1 and 2, channels around vector lengths (1, odd,
// 8 +- 1, 16 +- 1, 33), batch 1, maps that are one pixel.
const std::vector<TestShape>& conv_shapes();

// Float operands for the weight gradient, normal draws from `seed`, channels last.
Operands random_operands(const TestShape& shape, uint64_t seed = 1);

// The operands of a 1x1 convolution around a given dy [N,Co,H,W], x and w all ones.
Operands operands_with_dy(const at::Tensor& dy);

// Product of the operands in double precision, through LibTorch.
at::Tensor double_product(Operands operands);

// |a - b| <= tolerance * max(|b|), everywhere.
testing::AssertionResult close(const at::Tensor& a, const at::Tensor& b, double tolerance);
#define EXPECT_CLOSE(a, b) EXPECT_TRUE(::approx::close(a, b, 2e-5))

// Two classes of 8x8 grey images that a small network tells apart at once: bright above or below.
LoadedDataset toy_dataset(int64_t train = 256, int64_t test = 64);

}  // namespace approx
