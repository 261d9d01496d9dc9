#include "core/train/precision.h"

#include <ATen/Context.h>

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

}  // namespace approx
