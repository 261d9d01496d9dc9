// Precompiled for the files that define modules: LibTorch's module headers take 20 s to read.
#pragma once

#include <ATen/ATen.h>
#include <fmt/format.h>
#include <torch/nn/init.h>
#include <torch/nn/modules/batchnorm.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>
