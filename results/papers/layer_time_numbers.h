// What the study of layer times says of the numbers that papers make of such times.
#pragma once

#include <cstddef>

#include "base/params.h"
#include "core/experiment/item.h"
#include "results/papers/judge.h"

namespace approx {

// Ours of a number of McDanel et al. 2022, Figure 9, from the content of a layer-times study, over
// its convolutions. `row`: 0 is exact training, then the study's methods in their order.
//   time, %                       share of the data gradients in the time of all exact products
//   time_saved, estimated         what is saved where the time of a product falls with its
//                                 multiply-accumulates
//   time_saved, measured-kernel   what the method's own products save, choosing included
// Nothing measured (n = 0) where the study has none.
Measured layer_time_number(const ReportedValue& value, size_t row, const Json& content);

}  // namespace approx
