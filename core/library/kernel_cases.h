// What bench-kernel measures.
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

// Normal draws, always the same, in float with the channels last. Throws Error(kUsage) where the
// kernel does not fit the image.
Operands bench_operands(const ConvShape& shape, Product product, c10::Device device);

// See Engine::recorded_shapes.
std::vector<ConvShape> recorded_shapes_of(const std::string& folder);

// The cases of one shape (see Engine::kernel_cases): LibTorch's convolution with the channels last
// and first and each exact product of our own, then every variant of every method that is named.
// Whether kFp32 is float or TensorFloat-32 on a device is set by who calls (set_float_products).
// Throws Error.
std::vector<KernelCase> kernel_cases_of(const ConvShape& shape, Product product,
                                        const std::vector<std::string>& methods, c10::Device device,
                                        Precision precision = Precision::kFp32);

// Makes these cases replay what the device has recorded of their first calls, so that their times
// are those within a captured step. Those that wait for the device, and those that cannot be
// recorded, are called as before and say so in their remark.
void make_captured(std::vector<KernelCase>& cases, const std::shared_ptr<StepRecorder>& recorder);

// Leaves them as they are and lets their remarks say why.
void make_launched(std::vector<KernelCase>& cases, const std::string& why);

// Makes each call of these cases find nothing in the caches of their device.
void make_cold(std::vector<KernelCase>& cases, c10::Device device);

// What pruned_at_random_text names: entries of dY zeroed by draws that are always the same for a dY
// of these sizes.
Plan pruned_at_random(const Operands& operands, double density);

// See Engine::kernel_choices.
std::vector<KernelChoice> kernel_choices_of(const ConvShape& shape, Product product,
                                            const std::vector<std::string>& methods,
                                            c10::Device device,
                                            Precision precision = Precision::kFp32);

}  // namespace approx
