#include "core/train/precision.h"

#include <ATen/Context.h>
#include <ATen/autocast_mode.h>

namespace approx {

c10::ScalarType operand_type(Precision precision) {
  switch (precision) {
    case Precision::kFp32:
    case Precision::kTf32:
      break;
    case Precision::kBf16:
      return c10::kBFloat16;
    case Precision::kFp16:
      return c10::kHalf;
  }
  return c10::kFloat;
}

Operands in_precision(Operands operands, Precision precision) {
  for (auto* tensor : {&operands.x, &operands.w, &operands.dy}) {
    if (tensor->defined()) *tensor = tensor->to(operand_type(precision));
  }
  return operands;
}

void set_float_products(c10::Device device, Precision precision) {
  if (!device.is_cuda()) return;
  at::globalContext().setAllowTF32CuDNN(precision == Precision::kTf32);
  at::globalContext().setAllowTF32CuBLAS(precision == Precision::kTf32);
}

Autocast::Autocast(Precision precision, c10::DeviceType device) : device_(device) {
  const auto type = operand_type(precision);
  if (type == at::kFloat) return;
  active_ = true;
  at::autocast::set_autocast_enabled(device_, true);
  at::autocast::set_autocast_dtype(device_, type);
}

Autocast::~Autocast() {
  if (!active_) return;
  at::autocast::clear_cache();  // the weights change at the end of the step
  at::autocast::set_autocast_enabled(device_, false);
}

}  // namespace approx
