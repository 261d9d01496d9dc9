#include "core/train/generators.h"

#include <ATen/Context.h>

namespace approx {

std::vector<std::pair<std::string, at::Generator>> generators(c10::Device device) {
  std::vector<std::pair<std::string, at::Generator>> used = {
      {"generator:cpu", at::globalContext().defaultGenerator(at::kCPU)}};
  if (device.is_cuda()) {
    used.emplace_back("generator:cuda", at::globalContext().defaultGenerator(device));
  }
  return used;
}

}  // namespace approx
