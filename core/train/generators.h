// The random generators of LibTorch.
#pragma once

#include <ATen/core/Generator.h>
#include <c10/core/Device.h>

#include <string>
#include <utility>
#include <vector>

namespace approx {

// LibTorch's global generators that a training on `device` may use, with names.
std::vector<std::pair<std::string, at::Generator>> generators(c10::Device device);

}  // namespace approx
