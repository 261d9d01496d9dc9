// In what a device computes products.
#pragma once

#include <c10/core/Device.h>
#include <c10/core/ScalarType.h>

#include "core/config/run_config.h"
#include "kernels/operands.h"

namespace approx {

// What the operands of products are.
c10::ScalarType operand_type(Precision precision);

// Those that there are, converted to that.
Operands in_precision(Operands operands, Precision precision);

// Whether products of float operands are computed there in float or, as kTf32 has it, in
// TensorFloat-32. LibTorch's own default is not the same for convolutions and matrix products.
void set_float_products(c10::Device device, Precision precision);

// Autocast for the life of a scope, where the precision asks for it.
class Autocast {
 public:
  Autocast(Precision precision, c10::DeviceType device);
  ~Autocast();
  Autocast(const Autocast&) = delete;
  Autocast& operator=(const Autocast&) = delete;

 private:
  c10::DeviceType device_;
  bool active_ = false;
};

}  // namespace approx
