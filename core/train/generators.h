// What LibTorch itself draws from.
#pragma once

#include <ATen/core/Generator.h>
#include <c10/core/Device.h>

#include <string>
#include <utility>
#include <vector>

namespace approx {

// LibTorch's global generators that a training on `device` may draw from, named.
std::vector<std::pair<std::string, at::Generator>> generators(c10::Device device);

}  // namespace approx
