// Precompiled for the tests that use tensors: they read all of ATen and the module headers.
#pragma once

#include <ATen/ATen.h>
#include <fmt/format.h>
#include <torch/nn/init.h>
#include <torch/nn/modules/batchnorm.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>
