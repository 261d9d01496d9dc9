// How many bytes a product has to move, whatever computes it: what its rate is held against a
// memory's by.
#pragma once

#include "kernels/operands.h"
#include "kernels/plan.h"

namespace approx {

// Bytes that a plan must read and write at least: of each operand what it needs of it, once, and
// the result. A gradient of which a part was chosen had to be read whole; how x or w were looked at
// beforehand, to choose among channels or examples, is not counted. Multiply-adds are counted by
// `plan_macs`. Where a plan's entries are on a device, their number is waited for.
double plan_bytes(const Plan& plan, const Operands& operands);

}  // namespace approx
