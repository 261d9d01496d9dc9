// A network that trains for a given number of steps.
#pragma once

#include <memory>

#include "core/data/dataset.h"
#include "core/engine/engine.h"

namespace approx {

// See Engine::stepper.
std::unique_ptr<Stepper> make_stepper(const RunConfig& config, LoadedDataset dataset, bool phases);

}  // namespace approx
