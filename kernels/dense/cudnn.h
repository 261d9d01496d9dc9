// The exact product on a GPU by the fastest of all of cuDNN's engines (kernels/cudnn/), the variant
// "cudnn": the fairest that an approximated product can be held against. LibTorch by itself takes
// the first that cuDNN's heuristics name.
#pragma once

#include <c10/core/Device.h>

#include <string>
#include <string_view>

#include "kernels/cudnn/engines.h"
#include "kernels/operands.h"

namespace approx {

inline constexpr std::string_view kCudnn = "cudnn";

// The file that choices are kept in; "": none, each process makes its own. What is in it already
// is taken from there, if it is of this GPU and this cuDNN, and is what makes layers choose the
// variant: where its engine was faster than LibTorch's own convolution. So equal runs take equal
// paths, and a process without a file computes as before. `adds`: choices that are made are
// written to it; otherwise a file that is not there is an Error(kUsage), as one is that is no list
// of choices. `device`: the GPU that is computed on.
void use_cudnn_choices(const std::string& file, bool adds, c10::Device device);

// The engine for a product of operands on a GPU: found by timing all that can compute it,
// LibTorch's own convolution too, when it is first asked for. Throws Error(kInternal) with the
// reason where this machine has no cuDNN or none of its engines computes it.
cudnn::EngineChoice cudnn_choice(const Operands& operands);

}  // namespace approx
