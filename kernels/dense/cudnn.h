// The variant "cudnn": the exact product on a GPU with the fastest of all of cuDNN's engines
// (kernels/cudnn/). It is the fairest baseline for an approximated product. LibTorch alone takes
// the first engine that cuDNN's heuristics name.
#pragma once

#include <c10/core/Device.h>

#include <string>
#include <string_view>

#include "kernels/cudnn/engines.h"
#include "kernels/operands.h"

namespace approx {

inline constexpr std::string_view kCudnn = "cudnn";

// Sets the file for choices; "": none, each process makes its own. Choices in the file are used if
// they are for this GPU and this cuDNN. Layers choose the variant only by them: where its engine
// was faster than LibTorch's own convolution. So equal runs take equal paths, and a process without
// a file computes as before. `adds`: new choices are written to the file. Without it, a missing
// file is an Error(kUsage), and so is a file that is no list of choices. `device`: the GPU that
// computes.
void use_cudnn_choices(const std::string& file, bool adds, c10::Device device);

// The engine for a product of operands on a GPU. At the first call all engines that can compute it
// are timed, and LibTorch's own convolution too. Throws Error(kInternal) with the reason where this
// machine has no cuDNN or none of its engines computes the product.
cudnn::EngineChoice cudnn_choice(const Operands& operands);

}  // namespace approx
