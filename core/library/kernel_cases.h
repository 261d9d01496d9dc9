// The kernel cases that bench-kernel measures.
#pragma once

#include <c10/core/Device.h>

#include <memory>
#include <string>
#include <vector>

#include "core/engine/engine.h"
#include "core/train/step_recorder.h"
#include "kernels/operands.h"
#include "kernels/plan.h"

namespace approx {

// Operands of normal draws, always equal, in float with the channels last. Throws Error(kUsage) if
// the kernel does not fit the image.
Operands bench_operands(const ConvShape& shape, Product product, c10::Device device);

// See Engine::recorded_shapes.
std::vector<ConvShape> recorded_shapes_of(const std::string& folder);

// The cases of one shape (see Engine::kernel_cases). First come LibTorch's convolution, with the
// channels last and first, and each exact product of our own. Then comes every variant of every
// method in `methods`. The caller sets whether kFp32 is float or TensorFloat-32 on a device
// (set_float_products). Throws Error.
std::vector<KernelCase> kernel_cases_of(const ConvShape& shape, Product product,
                                        const std::vector<std::string>& methods, c10::Device device,
                                        Precision precision = Precision::kFp32);

// Makes these cases replay a recording of their first calls, so that their times are those within a
// captured step. Cases that wait for the device, or that cannot be recorded, are called as before
// and say so in their remark.
void make_captured(std::vector<KernelCase>& cases, const std::shared_ptr<StepRecorder>& recorder);

// Does not change how the cases are called. Their remarks give `why`.
void make_launched(std::vector<KernelCase>& cases, const std::string& why);

// Makes each call of these cases start with cold caches.
void make_cold(std::vector<KernelCase>& cases, c10::Device device);

// The plan that pruned_at_random_text() names: dY with entries zeroed by random draws. The draws
// depend only on the sizes of dY.
Plan pruned_at_random(const Operands& operands, double density);

// See Engine::kernel_choices.
std::vector<KernelChoice> kernel_choices_of(const ConvShape& shape, Product product,
                                            const std::vector<std::string>& methods,
                                            c10::Device device,
                                            Precision precision = Precision::kFp32);

}  // namespace approx
