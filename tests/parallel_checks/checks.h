// The parts of parallel_checks.
#pragma once

#include <ATen/ATen.h>

#include <chrono>
#include <memory>
#include <string>

#include "core/config/run_config.h"
#include "core/parallel/collectives.h"

namespace approx {

// Counts and says what does not hold.
void expect(bool holds, const std::string& what);

// Sums, gathers and broadcasts against what they are, of tensors on `device`.
void exchanges(Collectives& ranks, at::Device device);

// Trainings by R ranks against those of one process. Rank 0 prints how far they are apart.
void agree(const std::shared_ptr<Collectives>& ranks);

// The same by `ranks` whose exchanges are those of a device; steps that are repeated as a graph
// would repeat them, and ranks whose weights are not the same.
void agree_on_device(const std::shared_ptr<Collectives>& host);

// What a GPU for each rank must hold: exchanges, trainings, graphs. `host` carries what is of the
// host.
void check_cuda(const std::shared_ptr<Collectives>& host, std::chrono::milliseconds limit);

// A small network on 16 images a step.
RunConfig training(const std::string& method, const std::string& schedule);

at::Tensor weights_after(int steps, const RunConfig& config,
                         const std::shared_ptr<Collectives>& ranks);

}  // namespace approx
