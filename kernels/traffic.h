// The number of bytes that a product must move, with any variant. Its rate is compared with that of
// a memory.
#pragma once

#include "kernels/operands.h"
#include "kernels/plan.h"

namespace approx {

// Bytes that a plan must read and write at least: the needed part of each operand, once, and the
// result. A gradient from which a part was chosen counts as a whole, since the choice had to read
// it. Earlier reads of x or w to choose channels or examples do not count. Where a plan's entries
// are on a device, this waits for their number. Multiply-adds are counted by `plan_macs`.
double plan_bytes(const Plan& plan, const Operands& operands);

}  // namespace approx
