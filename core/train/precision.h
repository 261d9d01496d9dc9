// The precision in which a device computes products.
#pragma once

#include <c10/core/Device.h>
#include <c10/core/ScalarType.h>

#include "core/config/run_config.h"
#include "kernels/operands.h"

namespace approx {

// The type of the operands of products.
c10::ScalarType operand_type(Precision precision);

// Converts the operands that are defined to operand_type().
Operands in_precision(Operands operands, Precision precision);

// Sets whether products of float operands on the device are computed in float or, for kTf32, in
// TensorFloat-32. LibTorch's own default differs between convolutions and matrix products.
void set_float_products(c10::Device device, Precision precision);

// Enables autocast for the life of a scope, if the precision asks for it.
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
